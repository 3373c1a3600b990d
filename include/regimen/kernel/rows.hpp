// regimen/kernel/rows.hpp — rows of tensors, each taken by a warp or by a block, 16 bytes at a time.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace regimen::kernel {

/// Runs of a row that a thread keeps in registers, so that memory is read once: as many loads are in flight.
inline constexpr unsigned held_runs = 4;

namespace detail {

/// Makes a compiler for devices compute anew, at each use, what follows from these: a value that is kept from one use
/// to the next takes registers for as long.
template <class... Unsigned>
REGIMEN_HD void compute_anew([[maybe_unused]] Unsigned&... x) {
#if defined(__CUDA_ARCH__)
  (([&] { asm volatile("" : "+r"(x)); }()), ...);
#endif
}

}  // namespace detail

/// The threads that take a row together: a warp, whose sums need no barrier, or all `size` of the block. Which of the
/// two is a value, so that a kernel has one body for both.
template <unsigned size, class Block>
struct RowTeam final {
  const Block& block;
  bool is_block;

  REGIMEN_HD_UNCHECKED
  REGIMEN_HD unsigned threads() const {
    if constexpr (std::is_same_v<Block, Serial>) return 1;
    else return is_block ? size : warp_lanes;
  }
  REGIMEN_HD_UNCHECKED
  REGIMEN_HD unsigned thread() const { return is_block ? block.thread() : block.thread() % warp_lanes; }
  REGIMEN_HD_UNCHECKED
  REGIMEN_HD unsigned teams() const {
    unsigned teams = is_block || std::is_same_v<Block, Serial> ? 1 : block.threads() / warp_lanes;
    detail::compute_anew(teams);
    return teams;
  }
  REGIMEN_HD_UNCHECKED
  REGIMEN_HD unsigned team() const { return is_block ? 0 : block.thread() / warp_lanes; }
  /// Of the block, and of all.
  REGIMEN_HD_UNCHECKED
  REGIMEN_HD unsigned index() const { return block.index(); }
  REGIMEN_HD_UNCHECKED
  REGIMEN_HD unsigned blocks() const { return block.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Combine, class T>
  REGIMEN_HD T combined(T value) const {
    value = block.template warp<Combine>(value);
    return is_block ? combined_warps<Combine>(block, value) : value;
  }
};

/// This thread's runs of n neighbours of a row. load(i) reads and prepares the run at i: once, if they are held, else
/// for each visit.
template <unsigned n, bool held, class Load>
class RowPart final {
  using Run = decltype(std::declval<const Load&>()(std::size_t{}));
  using Index = std::conditional_t<held, unsigned, std::size_t>;  // a row that is held is short

 public:
  REGIMEN_HD_UNCHECKED
  template <class Team>
  REGIMEN_HD RowPart(const Team& team, std::size_t count, const Load& load)
      : load_(load), first_(team.thread() * n), step_(team.threads() * n), count_(static_cast<Index>(count)) {
    if constexpr (held) {
      for_held([&]<unsigned>(std::size_t i, Run& run) { run = load_(i); });
    }
  }
  /// visit(i, run), in order of i.
  REGIMEN_HD_UNCHECKED
  template <class Visit>
  REGIMEN_HD void for_each(const Visit& visit) {
    for_each_numbered([&]<unsigned>(std::size_t i, Run& run) { visit(i, run); });
  }
  /// visit<r>(i, run): r numbers the runs that are held, and is 0 for others.
  REGIMEN_HD_UNCHECKED
  template <class Visit>
  REGIMEN_HD void for_each_numbered(const Visit& visit) {
    if constexpr (held) {
      for_held(visit);
    } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // four packs at a time would spill on sm_100; four numbers are four times the code
#endif
      for (Index i = first_; i < count_; i += step_) {
        Run run = load_(i);
        visit.template operator()<0>(i, run);
      }
    }
  }
  /// find(i), n bits, for each run that is held: run r's from bit n · r on. Zero if none is. In a loop that is not
  /// written out, so that a program has what finds them once.
  REGIMEN_HD_UNCHECKED
  template <class Find>
  REGIMEN_HD unsigned bits(const Find& find) const {
    static_assert(n * held_runs <= 32);
    unsigned found = 0;
    if constexpr (held) {
      unsigned place = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (unsigned i = first_; i < count_ && place < n * held_runs; i += step_, place += n) found |= find(i) << place;
    }
    return found;
  }

 private:
  /// Written out: an array that a loop indexes may lie in memory.
  REGIMEN_HD_UNCHECKED
  template <class Visit>
  REGIMEN_HD void for_held(const Visit& visit) {
    unsigned first = first_;
    detail::compute_anew(first);  // the addresses of the runs
    [&]<unsigned... r>(std::integer_sequence<unsigned, r...>) {
      ((first + r * step_ < count_ ? visit.template operator()<r>(first + r * step_, runs_[r]) : static_cast<void>(0)),
       ...);
    }(std::make_integer_sequence<unsigned, held_runs>{});
  }

  const Load load_;
  Index first_, step_, count_;
  Run runs_[held ? held_runs : 1];
};
REGIMEN_HD_UNCHECKED
template <unsigned n, bool held, class Team, class Load>
REGIMEN_HD RowPart<n, held, Load> part_of_row(const Team& team, std::size_t count, const Load& load) {
  return {team, count, load};
}

/// Asks for what this thread reads of a row that it takes next, so that it comes near while another is computed with: a
/// hint, which holds no registers.
REGIMEN_HD_UNCHECKED
template <unsigned n, class Team, class T>
REGIMEN_HD void ask_for_part([[maybe_unused]] const Team& team, [[maybe_unused]] std::size_t count,
                             [[maybe_unused]] const T* row) {
#if defined(__CUDA_ARCH__)
  for (unsigned i = team.thread() * n; i < count; i += team.threads() * n)
    asm volatile("prefetch.L2 [%0];" ::"l"(row + i));
#endif
}

/// How the blocks of a kernel take rows: in runs of 16 bytes where all rows begin at multiples of 16 bytes and their
/// length is a multiple of `width`, else element by element. Rows that fit into a warp's registers are taken by warps,
/// others by blocks, which hold them if they can. Which it is depends on shape and addresses alone, so a row's sums
/// have one order.
template <unsigned width, unsigned threads>
struct RowPlan final {
  std::size_t rows, columns;
  bool aligned;  // the first row of each tensor

  REGIMEN_HD constexpr bool is_wide() const { return aligned && columns % width == 0; }
  /// Whether so many threads hold a row.
  REGIMEN_HD constexpr bool holds(unsigned team) const {
    return columns <= std::size_t{held_runs} * (is_wide() ? width : 1) * team;
  }
  constexpr unsigned blocks() const { return blocks_for(rows, holds(warp_lanes) ? threads / warp_lanes : 1); }

  /// use<n, held>(team) with this thread's team.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Use>
  REGIMEN_HD void with_team(const Block& block, const Use& use) const {
    if (is_wide()) with_team_of<width>(block, use);
    else with_team_of<1>(block, use);
  }
  /// take<n, held>(team, row) for the rows of this thread's team.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Take>
  REGIMEN_HD void for_each(const Block& block, const Take& take) const {
    static_assert(most_blocks * threads <= 1u << 30);  // the products below have 32 bits
    with_team(block, [&]<unsigned n, bool held>(const auto& team) {
      for (std::size_t row = team.index() * team.teams() + team.team(); row < rows; row += team.blocks() * team.teams())
        take.template operator()<n, held>(team, row);
    });
  }

 private:
  REGIMEN_HD_UNCHECKED
  template <unsigned n, class Block, class Use>
  REGIMEN_HD void with_team_of(const Block& block, const Use& use) const {
    const bool by_warps = holds(RowTeam<threads, Block>{block, false}.threads());
    const RowTeam<threads, Block> team{block, !by_warps};
    if (by_warps || holds(team.threads())) use.template operator()<n, true>(team);
    else use.template operator()<n, false>(team);
  }
};

/// body<n>(i) for this thread's runs of n elements, 16 bytes, in one row that may begin anywhere, then body<1>(i) for
/// the elements before the first multiple of 16 bytes and behind the last.
REGIMEN_HD_UNCHECKED
template <class T, class Block, class Body>
REGIMEN_HD void for_row(const Block& block, const T* row, std::size_t count, const Body& body) {
  constexpr unsigned width = pack_of<T>;
  const std::size_t to_multiple = (16 - reinterpret_cast<std::uintptr_t>(row) % 16) % 16 / sizeof(T),
                    before = to_multiple < count ? to_multiple : count, packed = (count - before) / width * width;
  for (std::size_t i = std::size_t{block.thread()} * width; i < packed; i += std::size_t{block.threads()} * width)
    body.template operator()<width>(before + i);
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // on a GPU a thread has one of them at most
#endif
  for (std::size_t i = block.thread(); i < count - packed; i += block.threads())
    body.template operator()<1>(i < before ? i : packed + i);
}

/// The numbers of a row become others, of a type that is no wider, one behind the other from where the row begins: at a
/// multiple of 16 bytes, if the type is another.
///   change<n>(i, x)   gives what the n numbers x at i become
/// What a thread writes in a narrower type lies where numbers of other threads were: all of a chunk is read before any
/// of it is written, and a chunk's place lies before the next chunk.
REGIMEN_HD_UNCHECKED
template <class D, class T, class Block, class Change>
REGIMEN_HD void overwrite_row(const Block& block, T* row, std::size_t count, const Change& change) {
  if constexpr (std::is_same_v<D, T>) {
    for_row(block, row, count, [&]<unsigned n>(std::size_t i) {
      detail::write(change.template operator()<n>(i, detail::read<n>(row + i)), row + i);
    });
  } else {
    static_assert(sizeof(D) < sizeof(T));
    constexpr unsigned width = pack_of<T, D>;
    D* const to = reinterpret_cast<D*>(row);
    const std::size_t chunk = std::size_t{block.threads()} * width;
    for (std::size_t begin = 0; begin < count; begin += chunk) {
      const std::size_t i = begin + std::size_t{block.thread()} * width, left = i < count ? count - i : 0;
      Pack<T, width> x{};
      if (left >= width) x = detail::read<width>(row + i);
      else
        for (unsigned k = 0; k < width; ++k)
          if (k < left) x.at[k] = row[i + k];
      block.sync();  // who writes has waited for all who read
      if (left >= width) {
        const auto values = change.template operator()<width>(i, x);
        Pack<D, width> narrow;
        for (unsigned k = 0; k < width; ++k) narrow.at[k] = converted<D>(values.at[k]);
        detail::write(narrow, to + i);
      } else {
        for (unsigned k = 0; k < width; ++k)
          if (k < left) to[i + k] = converted<D>(change.template operator()<1>(i + k, Pack<T, 1>{{x.at[k]}}).at[0]);
      }
    }
  }
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
