// regimen/engine/plan/engine.hpp — the engine of a plan: computes nothing, counts memory and cost at compile time.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/defect.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>
#include <regimen/engine/engine.hpp>

#include <array>
#include <cstddef>

namespace regimen::planning {

/// The collectives of a step in order, unit by unit; kept only by a plan that was asked for it. One entry stands for
/// `copies` equal collectives of skipped iterations; a full plan has an entry for each. The units of a Bucket have an
/// entry each: the bytes are right, but a Bucket sends fewer collectives.
struct WireLog final {
  struct Call {
    LayerPath path{};       // of the unit
    std::size_t bytes = 0;  // that this rank sends
    bool gathers = false;   // false: reduces
    std::size_t copies = 1;
  };
  static constexpr std::size_t limit = 1024;
  std::array<Call, limit> calls{};
  std::size_t count = 0;

  constexpr void push(const Call& call) {
    if (count == limit) defect("more collectives than a log of them can hold");
    calls[count++] = call;
  }
  /// Entries pushed since `from` happen this many times.
  constexpr void multiply(std::size_t from, std::size_t times) {
    for (std::size_t i = from; i < count; ++i) calls[i].copies *= times;
  }
};

/// A matrix of a product whose rows do not all begin at multiples of 16 bytes.
///   element   bytes of one
///   bytes     that its rows would take more, if each were filled up; 0 if only its begin is not aligned
struct UnalignedRows {
  LayerPath path{};  // of the layer that multiplies
  std::size_t columns = 0, element = 0, bytes = 0;

  constexpr std::size_t row_bytes() const { return columns * element; }
  /// The next number of columns whose rows are aligned.
  constexpr std::size_t enough() const { return (row_bytes() + 15) / 16 * 16 / element; }
};

/// The products of a walk: those with unaligned rows, and of these the first few layers.
struct ProductRows {
  std::array<UnalignedRows, 4> first{};
  std::size_t count = 0;

  /// Adds the flops of an operation that is, or has, a product to cost.products, and to cost.unaligned if it has such a
  /// matrix. The wider of two factors is copied to rows that are aligned first.
  template <class A, class B, class C>
  constexpr void look_at(const op::Product<A, B, C>& o, const LayerPath& path, Cost& cost) {
    const double flops = o.cost().flops;
    if (flops == 0) return;
    cost.products += flops;
    bool found = is_unaligned(path, o.c.offset, o.m, o.row_of_c(), sizeof(C));
    if constexpr (sizeof(A) <= sizeof(B))
      found |= is_unaligned(path, o.a.offset, o.transpose_a ? o.k : o.m, o.row_of_a(), sizeof(A));
    if constexpr (sizeof(B) <= sizeof(A))
      found |= is_unaligned(path, o.b.offset, o.transpose_b ? o.n : o.k, o.transpose_b ? o.k : o.n, sizeof(B));
    if (found) cost.unaligned += flops;
  }
  constexpr void look_at(const auto& o, [[maybe_unused]] const LayerPath& path, [[maybe_unused]] Cost& cost) {
    if constexpr (requires { o.product; }) look_at(o.product, path, cost);
  }

 private:
  constexpr bool is_unaligned(const LayerPath& path, std::size_t offset, std::size_t rows, std::size_t columns,
                              std::size_t element) {
    UnalignedRows found{path, columns, element, 0};
    found.bytes = rows * (found.enough() * element - found.row_bytes());
    if (offset % 16 == 0 && found.bytes == 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
      UnalignedRows& known = first[i];
      if (known.path.digits != path.digits || known.columns != columns || known.element != element) continue;
      known.bytes = known.bytes > found.bytes ? known.bytes : found.bytes;
      return true;
    }
    if (count < first.size()) first[count++] = found;
    return true;
  }
};

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

  /// The first operation that the device has no form of.
  struct MissingForm {
    bool any = false;
    op::Phase phase = op::Phase::forward;
    LayerPath path{};
    unsigned refused_part = 0;  // 0: it has no form at all; otherwise as Traits::refused_part says
    bool is_said = true;        // whether it says its name and its cost
  };
  MissingForm lacking{};
  template <class Operation>
  static constexpr bool is_whole = engines::SaysNameAndCost<Operation> && Traits::template runs<Operation>;
  ProductRows rows{};

  constexpr explicit Engine(std::size_t world = 1, bool walks_all = false) : full(walks_all), ranks(world) {}

  template <class Operation>
  constexpr void run(const Operation& operation, std::size_t /*scratch*/) {
    if constexpr (engines::SaysNameAndCost<Operation>) cost[static_cast<std::size_t>(phase)] += operation.cost();
  }

  /// Before an operation runs: what the device lacks. A device that is not checked has a form of each operation of the
  /// library, and may lack only those of a program's own.   path   of the layer that runs it
  template <class Operation>
    requires(Traits::is_checked || !is_whole<Operation>)
  constexpr void look_at([[maybe_unused]] const Operation& operation, const LayerPath& path) {
    if (!is_whole<Operation> && !lacking.any)
      lacking = MissingForm{.any = true, .phase = phase, .path = path, .is_said = engines::SaysNameAndCost<Operation>};
    if constexpr (Traits::is_checked) rows.look_at(operation, path, cost[static_cast<std::size_t>(phase)]);
    if constexpr (requires { Traits::refused_part(operation); })
      if (const unsigned part = Traits::refused_part(operation); part != 0 && !lacking.any)
        lacking = {true, phase, path, part};
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
    add_more(before, count - 1);
  }

  // The state that must repeat before iterations are skipped, and the counts that skipping multiplies.
  struct Mark {
    TransientTensors transients;
    std::array<Cost, 3> cost;
    std::size_t logged, called, cache;
  };
  constexpr bool may_skip() const { return !full; }
  constexpr Mark mark(const auto& walk) const {
    return {.transients = walk.arena.transients,
            .cost = cost,
            .logged = walk.arena.log ? walk.arena.log->count : 0,
            .called = calls(),
            .cache = walk.cache};
  }
  constexpr bool repeats(const auto& walk, const Mark& then) const {
    return walk.arena.transients.same_layout(then.transients);
  }
  constexpr void skip(auto& walk, std::size_t periods, std::size_t stride, bool growing, const Mark& then) {
    TensorArena& arena = walk.arena;
    const std::size_t distance = periods * stride;
    if (TensorLog* log = arena.log; log && growing && distance > 0)
      log->repeat(then.logged, stride, periods, arena.transients);
    if (wire) wire->multiply(then.called, periods + 1);
    walk.cache += periods * (walk.cache - then.cache);
    if (growing) arena.top += distance;
    else arena.pop_to(arena.top - distance);
    add_more(then.cost, periods);
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
  /// What was added since `before`, once more `count` times.
  constexpr void add_more(const std::array<Cost, 3>& before, std::size_t count) {
    const double times = double(count);
    for (std::size_t i = 0; i < before.size(); ++i) {
      Cost& now = cost[i];
      const Cost& then = before[i];
      now.flops += times * (now.flops - then.flops);
      now.bytes += times * (now.bytes - then.bytes);
      now.operations += count * (now.operations - then.operations);
      now.wire += count * (now.wire - then.wire);
      now.products += times * (now.products - then.products);
      now.unaligned += times * (now.unaligned - then.unaligned);
      now.link += count * (now.link - then.link);
    }
  }
};

}  // namespace regimen::planning
// SPDX-License-Identifier: Apache-2.0
