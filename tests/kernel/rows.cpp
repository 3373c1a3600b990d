// tests/kernel/rows.cpp — rows by warps and by blocks, held in registers and not: every element once, in its place.
#include "against_cpu.hpp"

#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/rows.hpp>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 20;

/// y = x + Σ of its row, by a RowPlan. Not an operation of the library.
///   visits   how often each run is read; behind them the threads that take a row
struct AddSum {
  View<float> x, y, visits;
  std::size_t rows, columns;
};

}  // namespace

template <>
struct regimen::kernel::Kernel<AddSum> final {
  static constexpr unsigned threads = 64;
  static constexpr std::size_t shared_bytes = combined_bytes<float>;
  AddSum o;
  Memory at;

  RowPlan<4, threads> rows() const { return {o.rows, o.columns, are_aligned(at(o.x), at(o.y))}; }
  unsigned blocks() const { return rows().blocks(); }
  template <class Block>
  void operator()(const Block& block) const {
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const std::size_t first = row * o.columns;
      if (row == 0 && team.thread() == 0) at(o.visits)[o.rows * o.columns] = static_cast<float>(team.threads());
      auto part = part_of_row<n, held>(team, o.columns, [&](std::size_t i) {
        at(o.visits)[first + i] += 1;
        return detail::read<n>(at(o.x) + first + i);
      });
      float sum = 0;
      part.for_each([&](std::size_t, const Pack<float, n>& run) {
        for (unsigned k = 0; k < n; ++k) sum += run.at[k];
      });
      sum = team.template combined<Sum>(sum);
      part.for_each([&](std::size_t i, Pack<float, n> run) {
        for (unsigned k = 0; k < n; ++k) run.at[k] += sum;
        detail::write(run, at(o.y) + first + i);
      });
    });
  }
};

namespace {

enum class By { held_elements, elements, held_runs, runs };

/// Integers, whose sums are exact.
void adds_the_sum(std::size_t columns, std::size_t past, By by) {
  CAPTURE(columns, past);
  const std::size_t rows = 21, count = rows * columns;
  const Values x = integers<float>(count);
  Values wanted = x;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += x[row * columns + i];
    for (std::size_t i = 0; i < columns; ++i) wanted[row * columns + i] += sum;
  }
  const auto make = [&](Arena& arena) {
    AddSum o{};
    arena.begin_past(past * sizeof(float)), o.x = arena.put<float>(x);
    arena.begin_past(0), o.y = arena.room<float>(count);
    o.visits = arena.put<float>(Values(count + 1)), o.rows = rows, o.columns = columns;
    return o;
  };
  in_every_way(room, make, [&](const Arena& arena, const auto& o) {
    CHECK(arena.get(o.y, count) == wanted);
    const Values visits = arena.get(o.visits, count + 1);
    const bool wide = by == By::held_runs || by == By::runs;
    const std::size_t of_thread = kernel::held_runs * (wide ? 4 : 1), threads = static_cast<std::size_t>(visits[count]);
    const bool held = columns <= of_thread * threads;
    if (threads > 1) {
      CHECK(threads == (columns <= of_thread * kernel::warp_lanes ? kernel::warp_lanes : 64));
      CHECK(held == (by == By::held_runs || by == By::held_elements));
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += visits[i] == (wide && i % columns % 4 != 0 ? 0 : held ? 1 : 2) ? 0 : 1;
    CHECK(wrong == 0);
  });
}

}  // namespace

/// 512 columns are the registers of a warp, 1024 those of a block of 64 threads.
TEST_CASE("each row is read 16 bytes at a time, once if registers hold it") {
  for (const std::size_t columns : Sizes{4, 12, 128, 132, 512, 516, 1024}) adds_the_sum(columns, 0, By::held_runs);
  for (const std::size_t columns : Sizes{1028, 1544}) adds_the_sum(columns, 0, By::runs);
}
/// 128 columns are the registers of a warp, 256 those of a block.
TEST_CASE("rows that do not begin at multiples of 16 bytes are read element by element, once if registers hold them") {
  for (const std::size_t columns : Sizes{1, 2, 3, 65, 127, 129, 255}) adds_the_sum(columns, 0, By::held_elements);
  for (const std::size_t columns : Sizes{257, 1031}) adds_the_sum(columns, 0, By::elements);
  for (const std::size_t past : Sizes{1, 2, 3}) {
    for (const std::size_t columns : Sizes{1, 8, 128, 132, 256}) adds_the_sum(columns, past, By::held_elements);
    for (const std::size_t columns : Sizes{260, 512, 1028}) adds_the_sum(columns, past, By::elements);
  }
}
TEST_CASE("rows of one warp each need fewer blocks") {
  using Plan = kernel::RowPlan<4, 64>;
  CHECK(Plan{21, 512, true}.blocks() == 11);
  CHECK(Plan{21, 512, false}.blocks() == 21);
  CHECK(Plan{21, 128, false}.blocks() == 11);
  CHECK(Plan{21, 127, true}.blocks() == 11);
  CHECK(Plan{21, 511, true}.blocks() == 21);
  CHECK(Plan{21, 516, true}.blocks() == 21);
}

TEST_CASE("one row that begins anywhere: every element once, and by runs wherever one fits") {
  struct Threads {
    unsigned index;
    unsigned thread() const { return index; }
    static unsigned threads() { return 3; }
  };
  alignas(16) float row[48] = {};
  for (std::size_t past = 0; past < 4; ++past)
    for (std::size_t count = 0; count < 44; ++count) {
      CAPTURE(past, count);
      std::vector<int> visits(count);
      std::size_t runs = 0;
      for (unsigned thread = 0; thread < 3; ++thread)
        kernel::for_row(Threads{thread}, row + past, count, [&]<unsigned n>(std::size_t i) {
          if (n > 1) runs += reinterpret_cast<std::uintptr_t>(row + past + i) % 16 == 0 && n == 4 ? 1 : 1000;
          for (unsigned k = 0; k < n; ++k) ++visits.at(i + k);
        });
      CHECK(visits == std::vector<int>(count, 1));
      const std::size_t before = std::min<std::size_t>((4 - past) % 4, count);
      CHECK(runs == (count - before) / 4);
    }
}
// SPDX-License-Identifier: Apache-2.0
