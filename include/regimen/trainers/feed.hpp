// regimen/trainers/feed.hpp — the way of samples to the engine: the source and the options of a loader, the memory of
// its batches, and each micro-batch with the numbers that the host writes before it.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/data/batch_memory.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/programs/check_ids.hpp>
#include <regimen/programs/forward.hpp>  // upload
#include <regimen/programs/groups.hpp>
#include <regimen/trainers/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::trainers {

/// A reference to the program's source: a Loader holds its source by value, and copies may be large.
template <class Source>
struct SourceReference final {
  const Source* source;

  std::size_t size(const SampleShape& shape) const { return source->size(shape); }
  /// Reads by index, by key, or by keys: whichever of these the source has.
  template <class Which, class In, class Label>
    requires requires(const Source& s, const Which& which, Sample<In, Label> sample) { s.read(which, sample); }
  void read(const Which& which, Sample<In, Label> sample) const {
    source->read(which, sample);
  }
  std::string name() const { return regimen::detail::name_of_source(*source); }
};

/// The options of a loader that gives the micro-batches from the session's place on.
template <class Session>
LoaderOptions loader_options(const Session& session, const FitOptions& run) {
  return {.batch = Session::batch,
          .order = run.order,
          .remainder = run.remainder,
          .seed = Philox::mix(session.seed, 0xDA7A),
          .first = session.position.place,
          .epochs = run.epochs,
          .workers = run.workers,
          .ahead = run.ahead,
          .rank = session.rank(),
          .ranks = session.ranks()};
}

/// A micro-batch of a rank. `number`: its place in the step, on this rank; `ahead`: the number of steps between the
/// next step and its step.
template <class Input, class Label>
struct MicroBatch final {
  std::span<const Input> inputs;
  std::span<const Label> targets;
  std::size_t samples = 0, number = 0, ahead = 0;
};

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

/// Gives micro-batches to the engine: into the ring for inputs, if the step reads one, or into the arena.
template <class Engine>
class Feed final {
 public:
  /// Lets loaders write into memory that the engine copies from, if it has such memory.
  void pin([[maybe_unused]] Engine& engine, [[maybe_unused]] const op::InputRing& ring) {
    if constexpr (engines::PinsInputs<Engine>) pinned_ = std::make_unique<PinnedBatches<Engine>>(engine, ring);
  }
  /// The memory for the batches of fit's loader; null: the loader uses its own.
  data::BatchMemory* memory() {
    if constexpr (engines::PinsInputs<Engine>) return pinned_.get();
    else return nullptr;
  }
  /// Waits until the engine has read the last batch.
  void wait() { uploaded_.wait(); }
  /// Call it after an exception: the device may have taken fewer micro-batches than it got.
  void recount() { ring_differs_ = given_batches_ > 0; }

  /// Copies a micro-batch to the input, for operations that run from now on.
  template <class Session, class Input, class Label>
  void upload(Session& session, const MicroBatch<Input, Label>& batch) {
    prepare(session, batch);
    session.walk.engine.upload(session.resident.scalars.offset, numbers());
    programs::upload(session.walk, View<Input>{session.resident.input}, batch.inputs);
    uploaded_ = programs::upload(session.walk, View<Label>{session.resident.target}, batch.targets);
  }
  /// Gives a micro-batch of fit or step to the engine: to the ring for inputs, if there is one. A single rank skips an
  /// empty micro-batch.
  template <class Session, class Batch>
  void give(Session& session, const Batch& batch) {
    if constexpr (Session::Step::template slots<decltype(session.walk)> == 0) {
      upload(session, batch);
    } else {
      if (batch.samples == 0 && session.ranks() == 1) return;
      prepare(session, batch);
      const op::InputRing& ring = session.resident.ring;
      if (std::exchange(ring_differs_, false))
        programs::upload(session.walk, ring.taken, std::span<const std::uint64_t>(&given_batches_, 1)).wait();
      bool is_fed = false;
      if constexpr (engines::PinsInputs<Engine>) is_fed = pinned_->feed(given_batches_, batch.inputs.data(), numbers());
      if (!is_fed)
        session.walk.engine.feed(static_cast<std::size_t>(given_batches_ % ring.count), ring.slot(given_batches_),
                                 ring.stride, [&](std::span<std::byte> to) {
                                   const auto write = [&](std::size_t at, std::span<const std::byte> from) {
                                     std::copy(from.begin(), from.end(), to.subspan(at).begin());
                                   };
                                   write(0, numbers());
                                   write(ring.input, std::as_bytes(batch.inputs));
                                   write(ring.target, std::as_bytes(batch.targets));
                                 });
      ++given_batches_;
    }
  }

 private:
  /// Checks a micro-batch, and returns the numbers that the host gives with it.
  template <class Session, class Batch>
  void prepare(Session& session, const Batch& batch) {
    // The key of random numbers is the sample's place in the global batch: ordered by micro-batch, then by rank.
    const std::size_t first = (batch.number * session.ranks() + session.rank()) * Session::batch;
    const std::uint64_t step = session.position.steps_done + batch.ahead;
    const std::string where = "step " + std::to_string(step + 1);
    programs::check_tokens(batch.inputs, Session::input_size, Session::vocabulary, where, first);
    programs::check_labels(batch.targets, Session::target_size, Session::Step::classes, where, first);
    uploaded_.wait();  // earlier uploads have been read
    session.walk.batch = batch.samples;
    const auto& options = session.options;
    const double share = options.schedule.share(step);
    given_.random = {session.seed, step, first};
    given_.learning_rate = options.optimizer.learning_rate * share;
    if (session.walk.training)
      check_rate<typename Session::Master>(
          programs::GroupsOf<typename Session::UpdateRule>::rate(options.optimizer, share, step), step + 1);
  }
  std::span<const std::byte> numbers() const { return std::as_bytes(std::span(&given_, 1)).first(given_bytes); }

  Scalars given_{};  // the first members: the values that the host writes before a micro-batch
  typename Engine::Fence uploaded_{};
  std::unique_ptr<PinnedBatchesOf<Engine>> pinned_;  // null: the engine copies from any memory
  std::uint64_t given_batches_ = 0;                  // micro-batches that went to the ring
  bool ring_differs_ = false;                        // the device may have taken fewer
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
