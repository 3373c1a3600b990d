// regimen/engine/plan/engine.hpp — the engine that computes nothing and counts everything, at compile time.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/arena.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/weights.hpp>
#include <regimen/engine/plan/wire.hpp>

#include <array>

namespace regimen::plan {

/// What of a step an operation belongs to.
enum class Phase : unsigned char { forward, backward, update };

/// Walks the same program as every other engine. Iterations of a Repeat that only repeat what was seen are skipped and
/// multiplied, so a plan's cost does not depend on the depth; `full` evaluates them all, for tests.
struct Engine {
  std::size_t capacity = 1, batch = 1;
  bool full = false, training = true;
  Phase phase = Phase::forward;
  Arena arena{};
  std::array<Cost, 3> cost{};
  std::array<Weights, tied_limit> tied{};

  // The other ranks: all need the same bytes; the first has the most to do.
  std::size_t ranks = 1, rank = 0;
  bool reduces = true;  // does the backward that runs reduce its gradients?
  GatheredUnit ahead{};
  ReducingUnit reducing{};
  NextUnit after{};
  std::size_t cache = 0, position = 0;  // of a walk from where it stands: where the next layer's cache lies, and the first position
  WireLog* wire = nullptr;              // null: nobody asked

  constexpr explicit Engine(std::size_t batch_size, std::size_t world = 1) : capacity(batch_size), batch(batch_size), ranks(world) {}

  template <class Operation>
  constexpr void run(const Operation& operation) {
    cost[static_cast<std::size_t>(phase)] += operation.cost();
  }
  template <class T>
  constexpr void produced(std::size_t, std::size_t, Path) {}

  // Collectives: what this rank sends.
  constexpr std::size_t start_gather(std::size_t, std::size_t, std::size_t slice_bytes, Path path, comm::Teams teams = {}) {
    return send(slice_bytes, path, true, teams);
  }
  template <class T>
  constexpr std::size_t start_reduce(View<T>, std::size_t slice, std::size_t, Path path, comm::Teams teams) {
    return send(slice * sizeof(T), path, false, teams);
  }
  constexpr void await(std::size_t) {}
  template <class Sharding>
  constexpr void exchange(View<Scalars>, View<double>) {}

  /// body(0) ... body(count - 1), which compute alike, and take and give the same memory: one stands for all.
  constexpr void repeat(std::size_t count, auto&& body) {
    if (full || count < 2) {
      for (std::size_t i = 0; i < count; ++i) body(i);
      return;
    }
    const std::array<Cost, 3> before = cost;
    const std::size_t called = calls();
    body(std::size_t{0});
    if (wire) wire->multiply(called, count);
    for (std::size_t phase_index = 0; phase_index < 3; ++phase_index) add_more(phase_index, before[phase_index], double(count - 1), count - 1);
  }

  // What must repeat before iterations may be skipped, and what skipping them multiplies.
  struct Mark {
    Transients transients;
    std::array<Cost, 3> cost;
    std::size_t logged, called, cache;
  };
  constexpr bool may_skip() const { return !full; }
  constexpr Mark mark() const { return {arena.transients, cost, arena.log ? arena.log->count : 0, calls(), cache}; }
  constexpr bool repeats(const Mark& then) const { return arena.transients.same_layout(then.transients); }
  constexpr void skip(std::size_t periods, std::size_t stride, bool growing, const Mark& then) {
    const std::size_t distance = periods * stride;
    if (Log* log = arena.log; log && growing && distance > 0)
      for (std::size_t i = then.logged; i < log->count; ++i) {
        log->entries[i].stride = stride;
        log->entries[i].copies += periods;
      }
    if (wire) wire->multiply(then.called, periods + 1);
    cache += periods * (cache - then.cache);
    if (growing) arena.top += distance;
    else arena.pop_to(arena.top - distance);
    for (std::size_t phase_index = 0; phase_index < 3; ++phase_index) add_more(phase_index, then.cost[phase_index], double(periods), periods);
  }

 private:
  constexpr std::size_t send(std::size_t slice_bytes, const Path& path, bool gathers, comm::Teams teams) {
    const std::size_t bytes = slice_bytes * (teams.members(ranks) - 1);
    cost[static_cast<std::size_t>(phase)].wire += bytes;
    if (wire) wire->push({path, bytes, gathers, 1});
    return 0;
  }
  constexpr std::size_t calls() const { return wire ? wire->count : 0; }
  constexpr void add_more(std::size_t phase_index, const Cost& before, double times, std::size_t count) {
    Cost& now = cost[phase_index];
    now.flops += times * (now.flops - before.flops);
    now.bytes += times * (now.bytes - before.bytes);
    now.operations += count * (now.operations - before.operations);
    now.wire += count * (now.wire - before.wire);
  }
};

}  // namespace regimen::plan
// SPDX-License-Identifier: Apache-2.0
