// regimen/engine/cpu/engine.hpp — the engine that computes, now, on the host.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/core/arena.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/reduce.hpp>
#include <regimen/engine/cpu/region.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/engine/plan/engine.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

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
  SoloRank communicator{};
  Memory memory{};
  std::size_t operations = 0;  // run so far

  Engine(std::size_t batch_size, std::size_t bytes) : capacity(batch_size), batch(batch_size), region_(bytes) {
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
  T* data(View<T> view) const { return memory(view); }

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
      const double value = double(static_cast<statistic_t<T>>(values[i]));
      if (std::isfinite(value)) continue;
      throw Error("step " + std::to_string(memory.random.step + 1) + ", " + (phase == plan::Phase::forward ? "output" : "gradient") + " of layer " +
                      path.text(),
                  "finite numbers", std::isnan(value) ? "a NaN at element " + std::to_string(i) : "an infinity at element " + std::to_string(i),
                  "this is the first layer where one appears; look at its input, its weights and the learning rate");
    }
  }

  Region region_;
  Arena::Witness witness_{};
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
