// regimen/trainers/pinned_batches.hpp — the batches of fit's loader in memory from which an engine copies by itself.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/data/batch_memory.hpp>
#include <regimen/engine/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace regimen::trainers {

/// Blocks of the engine's pinned memory, laid out as a slot of the ring for inputs: a micro-batch goes to the device in
/// one copy from where the loader's threads wrote it. A block is written again when the fence of that copy has passed.
///
/// memory   as many blocks as loaders had at the same time, ring.stride bytes each, until the engine ends
template <class Engine>
class PinnedBatches final : public data::BatchMemory {
 public:
  PinnedBatches(Engine& engine, const op::InputRing& ring) : engine_(engine), ring_(ring) {}

  Place take(std::size_t input_bytes, std::size_t target_bytes) override {
    if (ring_.input + input_bytes > ring_.target || ring_.target + target_bytes > ring_.stride)
      defect("a batch that is larger than a slot of the ring for inputs");
    [[maybe_unused]] const auto scope = engine_.scope();  // a loader is made outside of any
    for (Block& block : blocks_) {
      if (block.is_taken) continue;
      block.copied.wait();  // of the last batch of a loader that has ended
      block.is_taken = true;
      return place_of(block);
    }
    blocks_.push_back({.at = engine_.pin(ring_.stride)});
    return place_of(blocks_.back());
  }
  void wait(const Place& place) override {
    if (Block* const block = block_of(place.input)) block->copied.wait();
  }
  void give_back(const Place& place) noexcept override {
    if (Block* const block = block_of(place.input)) block->is_taken = false;
  }

  /// Gives micro-batch number `number` of the ring to the engine, with the scalars before it. Returns false, and does
  /// nothing, if no block has it.
  bool feed(std::uint64_t number, const void* input, std::span<const std::byte> given) {
    Block* const block = block_of(input);
    if (block == nullptr) return false;
    std::memcpy(block->at, given.data(), given.size());
    block->copied = engine_.feed_pinned(static_cast<std::size_t>(number % ring_.count), ring_.slot(number),
                                        std::span<const std::byte>(block->at, ring_.stride));
    return true;
  }

 private:
  struct Block {
    std::byte* at = nullptr;
    typename Engine::Fence copied{};
    bool is_taken = true;
  };

  Place place_of(const Block& block) const { return {block.at + ring_.input, block.at + ring_.target}; }
  Block* block_of(const void* input) {
    for (Block& block : blocks_)
      if (block.at + ring_.input == input) return &block;
    return nullptr;
  }

  Engine& engine_;
  const op::InputRing ring_;
  std::vector<Block> blocks_;
};

/// For an engine without pinned memory.
struct NoPinnedBatches final {};
template <class Engine>
using PinnedBatchesOf = std::conditional_t<engines::PinsInputs<Engine>, PinnedBatches<Engine>, NoPinnedBatches>;

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
