// regimen/engine/cpu/engine.hpp — the engine that computes, now, on the host.
#pragma once

#include <regimen/comm/tree.hpp>
#include <regimen/core/arena.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/peers.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/reduce.hpp>
#include <regimen/engine/cpu/region.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/engine/cpu/update_tensor.hpp>
#include <regimen/engine/plan/engine.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace regimen::cpu {

/// Runs operations as they come. It has exactly the bytes that the plan says; taking one more ends the program.
///
///   check_anomalies   after every layer: throw Error naming the first whose output or gradient is not finite
///   poison_dead       fill what no one may read with NaN (and hide it from reads under ASan)
class Engine {
 public:
  std::size_t capacity = 1, batch = 1;
  bool training = true, check_anomalies = false;
  plan::Phase phase = plan::Phase::forward;
  Arena arena{};
  std::array<Weights, tied_limit> tied{};
  Memory memory{};
  std::size_t operations = 0;  // run so far

  // The other ranks, if there are any, and what is on its way between them.
  std::size_t ranks = 1, rank = 0;
  bool reduces = true;  // does the backward that runs reduce its gradients?
  GatheredUnit ahead{};
  ReducingUnit reducing{};
  GradientBucket bucket{};
  NextUnit after{};

  std::size_t cache = 0, position = 0;  // of a walk from where it stands: where the next layer's cache lies, and the first position

  Engine(std::size_t batch_size, std::size_t bytes, Peers* peers = nullptr)
      : capacity(batch_size),
        batch(batch_size),
        ranks(peers ? peers->size() : 1),
        rank(peers ? peers->rank() : 0),
        peers_(peers),
        parts_(4 * ranks),
        region_(bytes) {
    arena.capacity = bytes;
    memory.base = region_.base();
    memory.bytes = region_.bytes();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  template <class Operation>
  void run(const Operation& operation) {
    ++operations;
    compute(operation, memory);
  }

  template <class T>
  T* data(View<T> view) const {
    return memory(view);
  }

  // ---- collectives

  std::size_t start_gather(std::size_t own, std::size_t all, std::size_t slice_bytes, Path, comm::Teams teams = {}) {
    return peers_->start_gather(memory.base + own, memory.base + all, slice_bytes, teams);
  }
  template <class T>
  std::size_t start_reduce(View<T> all, std::size_t slice, std::size_t staging, Path, comm::Teams teams) {
    return peers_->start_reduce(element_type_of<T>, memory.base + all.offset, slice, staging == View<char>::absent ? nullptr : memory.base + staging,
                                teams);
  }
  void await(std::size_t ticket) { peers_->await(ticket); }
  /// A slice of every rank of a team, one behind the other, outside the arena.
  template <class T>
  void gather_to_host(View<T> own, T* all, std::size_t slice, comm::Teams teams) {
    await(peers_->start_gather(reinterpret_cast<const std::byte*>(memory(own)), reinterpret_cast<std::byte*>(all), slice * sizeof(T), teams));
  }

  /// The scalars of the step become those of all ranks. Σ g² of a part is known to every rank, or to the one that answers for it;
  /// of an evaluation there is none.
  template <class Sharding>
  void exchange(View<Scalars> scalars, View<double> square_sums) {
    struct Part {
      double loss_sum, count, correct, square_sum;
    };
    Scalars& s = *memory(scalars);
    double* const sums = memory.optional(square_sums);
    const Part own{s.loss_sum, s.count, s.correct, sums == nullptr ? 0 : sums[Sharding::part_of(rank, ranks)]};
    peers_->gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(parts_.data()), sizeof own);
    const auto total = [&](std::size_t field) { return comm::tree_of_values(parts_.data() + field, ranks, sizeof own / sizeof(double)); };
    s.loss_sum = total(0);
    s.count = total(1);
    s.correct = total(2);
    if (sums == nullptr) return;
    if constexpr (Sharding::slices_state)
      for (std::size_t r = 0; r < ranks; ++r) sums[Sharding::part_of(r, ranks)] = parts_[4 * r + 3];
    s.square_sum = comm::tree_of_values(sums, ranks);
  }

  template <class T>
  void produced(std::size_t offset, std::size_t count, Path path) {
    if constexpr (Number<T>) {
      if (check_anomalies) find_anomaly(memory(View<T>{offset}), count, path);
    }
  }

  void poison_dead() {
    witness_ = {&region_, [](void* self, std::size_t offset, std::size_t bytes) { static_cast<Region*>(self)->dies(offset, bytes); },
                [](void* self, std::size_t offset, std::size_t bytes) { static_cast<Region*>(self)->lives(offset, bytes); }};
    arena.witness = &witness_;
    if (arena.capacity > arena.top) region_.dies(arena.top, arena.capacity - arena.top);
  }

  /// After an exception inside a step: nothing but what lies below `floor` is alive.
  void abandon(std::size_t floor) {
    ahead = {};
    reducing = {};
    bucket.bytes = 0;
    bucket.ticket = no_ticket;
    while (arena.transients.count > 0) arena.give(arena.transients.items[arena.transients.count - 1].offset);
    if (arena.top > floor) arena.pop_to(floor);
  }

  void repeat(std::size_t count, auto&& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
  struct Mark {};
  static constexpr bool may_skip() { return false; }
  static constexpr Mark mark() { return {}; }
  static constexpr bool repeats(Mark) { return false; }
  static constexpr void skip(std::size_t, std::size_t, bool, Mark) {}

 private:
  template <class T>
  void find_anomaly(const T* values, std::size_t count, Path path) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_finite(values[i])) continue;
      throw Error("step " + std::to_string(memory.random.step + 1) + ", " + (phase == plan::Phase::forward ? "output" : "gradient") + " of layer " +
                      path.text(),
                  "finite numbers", is_nan(values[i]) ? "a NaN at element " + std::to_string(i) : "an infinity at element " + std::to_string(i),
                  "this is the first layer where one appears; look at its input, its weights and the learning rate");
    }
  }

  Peers* peers_ = nullptr;
  std::vector<double> parts_;  // of exchange
  Region region_;
  Arena::Witness witness_{};
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
