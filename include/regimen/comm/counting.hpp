// regimen/comm/counting.hpp — counts collectives, and the bytes that this rank sent in them.
#pragma once

#include <regimen/comm/detail/around.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace regimen::comm {

/// One kind of collective, or all of them.
struct Count final {
  std::uint64_t calls = 0, bytes = 0;

  friend bool operator==(const Count&, const Count&) = default;
};

/// Wraps C and counts. Bytes are the payload that this rank sends, by the formulas of detail::Around. Another thread
/// than the communicating one may read the counts of collectives for which it has waited.
///
///   Counting counted(ranks);
///   ...
///   counted.count(CollectiveKind::AllGather).bytes
template <Collectives C>
class Counting final : public detail::Around<Counting<C>, C> {
 public:
  explicit Counting(C& inner) : detail::Around<Counting, C>(inner) {}

  Count count(CollectiveKind kind) const {
    const Cell& cell = cells_[static_cast<std::size_t>(kind)];
    return {cell.calls.load(std::memory_order_relaxed), cell.bytes.load(std::memory_order_relaxed)};
  }
  Count total() const {
    Count sum;
    for (std::size_t kind = 0; kind < collective_kinds; ++kind) {
      const Count one = count(static_cast<CollectiveKind>(kind));
      sum.calls += one.calls;
      sum.bytes += one.bytes;
    }
    return sum;
  }
  void reset() {
    for (Cell& cell : cells_) {
      cell.calls.store(0, std::memory_order_relaxed);
      cell.bytes.store(0, std::memory_order_relaxed);
    }
  }

 private:
  friend detail::Around<Counting, C>;
  struct Cell {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
  };
  void observe(CollectiveKind kind, std::size_t sent, const auto& body) {
    body();  // failed collectives are not counted
    Cell& cell = cells_[static_cast<std::size_t>(kind)];
    cell.calls.fetch_add(1, std::memory_order_relaxed);
    cell.bytes.fetch_add(sent, std::memory_order_relaxed);
  }

  std::array<Cell, collective_kinds> cells_;
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
