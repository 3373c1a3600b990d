// regimen/engine/plan/engine.hpp — the engine of a plan: computes nothing, counts memory and cost at compile time.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/engine/plan/rows.hpp>
#include <regimen/engine/plan/wire.hpp>

#include <array>
#include <cstddef>

namespace regimen::planning {

/// The Traits of a plan without a device.
struct AnyTraits final : engines::DefaultTraits {
  static constexpr bool is_host_memory = false;
  static constexpr std::size_t input_slots(std::size_t) { return 0; }
  static constexpr std::size_t scratch(const auto&) { return 0; }
};

/// Skips iterations of a Repeat that equal earlier ones and multiplies their cost, so that compile time does not
/// depend on the depth; `full` evaluates all of them, for tests. Plans the first rank, which has the most work;
/// all ranks need the same bytes.
///   Traits   of the engine that will run the program
template <class Traits_>
struct Engine {
  using Traits = Traits_;

  bool full = false;
  op::Phase phase = op::Phase::forward;
  std::size_t ranks = 1;
  std::array<Cost, 3> cost{};  // by phase
  WireLog* wire = nullptr;     // null: not requested
  bool counts = true;          // costs; a walk that only logs tensors need not

  /// The first operation that the device has no form of.
  struct Lacking {
    bool any = false;
    op::Phase phase = op::Phase::forward;
    LayerPath path{};
    unsigned refused_part = 0;  // 0: it has no form at all; otherwise as Traits::refused_part says
    bool is_said = true;        // whether it says its name and its cost
  };
  Lacking lacking{};
  template <class Operation>
  static constexpr bool is_whole = engines::SaysNameAndCost<Operation> && Traits::template runs<Operation>;
  ProductRows rows{};

  constexpr explicit Engine(std::size_t world = 1, bool walks_all = false) : full(walks_all), ranks(world) {}

  template <class Operation>
  constexpr void run(const Operation& operation, std::size_t /*scratch*/) {
    if constexpr (engines::SaysNameAndCost<Operation>)
      if (counts) cost[static_cast<std::size_t>(phase)] += operation.cost();
  }

  /// Before an operation runs, on a device whose Traits say what it lacks.   path   of the layer that runs it
  template <class Operation>
    requires(Traits::is_checked)
  constexpr void look_at(const Operation& operation, const LayerPath& path) {
    if (!is_whole<Operation> && !lacking.any) lacking = {true, phase, path, 0, engines::SaysNameAndCost<Operation>};
    if (const double flops = rows.flops_of(operation); flops > 0) {
      Cost& now = cost[static_cast<std::size_t>(phase)];
      now.products += flops;
      if (rows.look_at(operation, path)) now.unaligned += flops;
    }
    if constexpr (requires { Traits::refused_part(operation); })
      if (const unsigned part = Traits::refused_part(operation); part != 0 && !lacking.any)
        lacking = {true, phase, path, part};
  }
  /// On a device that has a form of each operation of the library, only those of a program's own may lack one.
  template <class Operation>
    requires(!Traits::is_checked && !is_whole<Operation>)
  constexpr void look_at(const Operation&, const LayerPath& path) {
    if (!lacking.any) lacking = {true, phase, path, 0, engines::SaysNameAndCost<Operation>};
  }

  constexpr void replay(const engines::Recording&, auto&& body) { body(); }

  // Collectives: counts the bytes that this rank sends.
  constexpr std::size_t all_gather(const engines::Transfer& transfer) { return send(transfer, true); }
  constexpr std::size_t reduce_scatter(const engines::Transfer& transfer) { return send(transfer, false); }
  constexpr void await(std::size_t) {}
  // Copies to the host's memory, and back: counts their bytes.
  constexpr std::size_t offload(const engines::HostCopy& copy) { return cross_link(copy); }
  constexpr std::size_t fetch(const engines::HostCopy& copy) { return cross_link(copy); }
  constexpr void await_copy(std::size_t) {}
  /// A plan has no buckets: it counts unit by unit, with the same sum of bytes, so that skipped iterations stay exact.
  static constexpr std::size_t bucket(std::size_t) { return 1; }

  /// body(0) ... body(count - 1), which have equal costs and memory: runs one of them for all.
  constexpr void repeat(std::size_t count, auto&& body) {
    if (full || count < 2) {
      for (std::size_t i = 0; i < count; ++i) body(i);
      return;
    }
    const std::array<Cost, 3> before = cost;
    const std::size_t called = calls();
    body(std::size_t{0});
    if (wire) wire->multiply(called, count);
    for (std::size_t phase_index = 0; phase_index < 3; ++phase_index)
      add_more(phase_index, before[phase_index], double(count - 1), count - 1);
  }

  // The state that must repeat before iterations are skipped, and the counts that skipping multiplies.
  struct Mark {
    TransientTensors transients;
    std::array<Cost, 3> cost;
    std::size_t logged, called, cache;
  };
  constexpr bool may_skip() const { return !full; }
  constexpr Mark mark(const auto& walk) const {
    return {walk.arena.transients, cost, walk.arena.log ? walk.arena.log->count : 0, calls(), walk.cache};
  }
  constexpr bool repeats(const auto& walk, const Mark& then) const {
    return walk.arena.transients.same_layout(then.transients);
  }
  constexpr void skip(auto& walk, std::size_t periods, std::size_t stride, bool growing, const Mark& then) {
    TensorArena& arena = walk.arena;
    const std::size_t distance = periods * stride;
    if (TensorLog* log = arena.log; log && growing && distance > 0)
      for (std::size_t i = then.logged; i < log->count; ++i) {
        log->entries[i].stride = stride;
        log->entries[i].copies += periods;
      }
    if (wire) wire->multiply(then.called, periods + 1);
    walk.cache += periods * (walk.cache - then.cache);
    if (growing) arena.top += distance;
    else arena.pop_to(arena.top - distance);
    for (std::size_t phase_index = 0; phase_index < 3; ++phase_index)
      add_more(phase_index, then.cost[phase_index], double(periods), periods);
  }

 private:
  constexpr std::size_t send(const engines::Transfer& transfer, bool gathers) {
    if (transfer.small) return 0;
    const std::size_t bytes = transfer.bytes * (transfer.teams.members(ranks) - 1);
    cost[static_cast<std::size_t>(phase)].wire += bytes;
    if (wire) wire->push({transfer.path, bytes, gathers, 1});
    return 0;
  }
  constexpr std::size_t cross_link(const engines::HostCopy& copy) {
    cost[static_cast<std::size_t>(phase)].link += copy.bytes;
    return 0;
  }
  constexpr std::size_t calls() const { return wire ? wire->count : 0; }
  constexpr void add_more(std::size_t phase_index, const Cost& before, double times, std::size_t count) {
    Cost& now = cost[phase_index];
    now.flops += times * (now.flops - before.flops);
    now.bytes += times * (now.bytes - before.bytes);
    now.operations += count * (now.operations - before.operations);
    now.wire += count * (now.wire - before.wire);
    now.products += times * (now.products - before.products);
    now.unaligned += times * (now.unaligned - before.unaligned);
    now.link += count * (now.link - before.link);
  }
};

}  // namespace regimen::planning
// SPDX-License-Identifier: Apache-2.0
