// regimen/programs/mixtures.hpp — mixtures of schedules of recomputation, and the first of them in an order.
//
// Two schedules, of which the last K blocks follow one, make as many mixtures as there are blocks, and the best K is not
// the largest that fits: where segments do not divide the blocks, bytes and operations rise and fall. So all are searched.
// Their outlines need not be walked for that: what a mixture takes lies between what the two take alone, but for segments
// that do not divide their blocks, and values between the two. So straight lines bound its bytes and operations from below,
// and only where both lines allow more than the best that is known, a walk decides.
#pragma once

#include <regimen/programs/sketch.hpp>

#include <array>
#include <cstddef>

namespace regimen::programs {

/// Some last blocks under schedule `last`, before them `odd` ones, or none, under `between`, the others, and what stands
/// outside of blocks, under `first`.
struct Mixture {
  std::size_t first = 0, last = 0, odd = 0, between = 0;
};
/// Schedules of the space, and what their outline says.
///   index   among the schedules of all blocks, then the mixtures
///   whole   blocks that follow the last of the schedules
struct RankedSchedule {
  OutlineSchedules schedules{};
  std::size_t bound = 0, index = 0, whole = 0;
  double extra = 0;
  bool fits = false;
  OutlineShares shares{};

  constexpr bool before(const RankedSchedule& other) const {
    if (fits != other.fits) return fits;
    if (extra != other.extra) return extra < other.extra;
    if (bound != other.bound) return bound < other.bound;
    return index != other.index ? index < other.index : whole < other.whole;
  }
  /// Whether it takes no more of anything, and less of something, or is the first of equals.
  constexpr bool beats(const RankedSchedule& other) const {
    if (bound > other.bound || extra > other.extra || shares.held > other.shares.held ||
        shares.inside > other.shares.inside || shares.redone > other.shares.redone)
      return false;
    return bound < other.bound || extra < other.extra || shares.held < other.shares.held ||
           shares.inside < other.shares.inside || shares.redone < other.shares.redone || index < other.index;
  }
  constexpr bool beats_as_a_whole(const RankedSchedule& other) const {
    if (bound > other.bound || extra > other.extra) return false;
    return bound < other.bound || extra < other.extra || index < other.index;
  }
  /// The same, but those of least bound first.
  constexpr bool takes_less_than(const RankedSchedule& other) const {
    if (fits != other.fits) return fits;
    return bound != other.bound ? bound < other.bound : before(other);
  }
};

/// What is searched: the first schedule whose bound is at most `budget`, of those behind `last` if that fits.
struct Wanted {
  std::size_t budget = 0;
  bool by_bound = false;
  RankedSchedule last{};

  constexpr bool precedes(const RankedSchedule& one, const RankedSchedule& other) const {
    return by_bound ? one.takes_less_than(other) : one.before(other);
  }
  constexpr void judge(RankedSchedule& one) const {
    one.fits = true;
    one.fits = one.bound <= budget && (!last.fits || precedes(last, one));
  }
};

/// Numbers of blocks, from and to, in 1 and above.
struct BlockSpan {
  std::size_t from = 1, to = 0;

  constexpr bool is_empty() const { return from > to; }
  /// Leaves those of which at_none + by_block * blocks is at most `limit`.
  constexpr void keep(double at_none, double by_block, double limit) {
    if (by_block == 0) {
      if (at_none > limit) to = 0;
      return;
    }
    constexpr double rounding = 1e-6;
    const double edge = (limit - at_none) / by_block + (by_block > 0 ? rounding : -rounding);
    if (by_block > 0) {
      if (edge < double(to)) to = edge < 1 ? 0 : static_cast<std::size_t>(edge);
    } else if (edge > double(to)) {
      to = 0;
    } else if (edge > double(from)) {
      from = static_cast<std::size_t>(edge);
      if (double(from) < edge) ++from;
    }
  }
};

/// The search.
///   Space   count, uniforms     schedules of all blocks, as RankedSchedules
///           members             those that are mixed
///           pairs               of members: those that are mixed with a few odd blocks of a third between them
///           depth               blocks of the deepest Repeat
///           is_even, is_nested  whether all Repeats are as deep, and none in another; whether one is in another
///           steepest            the largest part of a Repeat that one of the last blocks is
///           seam                bytes of values between blocks, by which a line may be wrong
///           size, ranked(mixture, whole, index)   parts of the outline; what it says
template <class Space>
struct MixtureSearch {
  static constexpr std::size_t most_odd = 3;
  /// Where Repeats are not alike, lines say little: each schedule is mixed with two that take a little less, and two that
  /// take a little more.
  static constexpr std::size_t neighbours = 4;

  // ---- all mixtures

  static constexpr std::size_t count() {
    const std::size_t members = Space::members.made;
    if (Space::depth < 2) return 0;
    return Space::is_even ? members * members + Space::pairs.made * members * most_odd : members * neighbours;
  }
  static constexpr Mixture at(std::size_t number) {
    const std::size_t members = Space::members.made;
    const auto& of = Space::members.of;
    if (!Space::is_even) {
      const std::size_t first = number / neighbours, step = number % neighbours,
                        last = first + step - neighbours / 2 + (step < neighbours / 2 ? 0 : 1);
      return {of[first], of[last < members ? last : first], 0, 0};
    }
    if (number < members * members) return {of[number / members], of[number % members], 0, 0};
    number -= members * members;
    const auto& pair = Space::pairs.of[number / (members * most_odd)];
    return {pair[0], pair[1], 1 + number % most_odd, of[number / most_odd % members]};
  }
  /// Whether its schedules differ. Odd blocks fill what is left, where no segment is longer than a block.
  static constexpr bool is_apart(const Mixture& of) {
    if (of.first == of.last) return false;
    return of.odd == 0 || (of.between != of.first && of.between != of.last &&
                           segment(of.first) + segment(of.last) + segment(of.between) == 3);
  }

  // ---- lines

  static constexpr double tolerance = 1e-9;  // of rounded sums

  static constexpr const RankedSchedule& all_under(std::size_t schedule) { return Space::uniforms[schedule]; }
  /// What each of the last blocks changes at least, or at most, if all of them together change `all`.
  static constexpr double at_least(double all) { return all < 0 ? all * Space::steepest : all / double(Space::depth); }
  static constexpr double at_most(double all) { return -at_least(-all); }
  static constexpr double redone(std::size_t schedule) { return all_under(schedule).shares.redone; }
  static constexpr double held(std::size_t schedule) { return double(all_under(schedule).shares.held); }
  static constexpr std::size_t segment(std::size_t schedule) {
    const std::size_t of = all_under(schedule).schedules.of[0].segment;
    return of > 0 ? of : 1;
  }
  static constexpr bool is_redone(std::size_t schedule) { return all_under(schedule).schedules.of[0].segment > 0; }
  static constexpr double segments(std::size_t schedule, std::size_t blocks) {
    return double((blocks + segment(schedule) - 1) / segment(schedule));
  }
  /// Operations that each segment saves: of its last block not all is needed.
  static constexpr std::array<double, Space::count> saved_by_segment = [] {
    std::array<double, Space::count> all{};
    for (std::size_t i = 0; i < Space::count; ++i)
      if (segment(i) > 1)
        all[i] = (redone(i) - redone(i / Space::segments.count * Space::segments.count + 1)) /
                 (double(Space::depth) - segments(i, Space::depth));
    return all;
  }();
  /// Operations, and bytes, by which a line may be wrong: where segments do not divide the blocks.
  static constexpr double slack_of(std::size_t schedule) {
    return Space::is_even ? saved_by_segment[schedule] : segment(schedule) > 1 ? redone(schedule) * Space::steepest : 0;
  }
  static constexpr double slack_of_bytes(std::size_t schedule) {
    return segment(schedule) > 1 ? double(Space::seam) : 0;
  }
  /// What some blocks take, if all Repeats are alike: operations, and bytes that stay.
  static constexpr double redone(std::size_t schedule, std::size_t blocks) {
    const double saved = saved_by_segment[schedule],
                 of_all = redone(schedule) + segments(schedule, Space::depth) * saved;
    return of_all * double(blocks) / double(Space::depth) - segments(schedule, blocks) * saved;
  }
  static constexpr double held(std::size_t schedule, std::size_t blocks, bool whole_segments = false) {
    const double all = held(schedule) + double(all_under(schedule).shares.not_held);  // with the output of the last
    if (segment(schedule) == 1) return all * double(blocks) / double(Space::depth);
    const double of_all = segments(schedule, Space::depth), some = segments(schedule, blocks);
    if (!whole_segments) return all - (of_all - some) * double(Space::seam);
    // Backward of a whole segment takes most: what stays below the last of them.
    return all - (double(Space::depth / segment(schedule)) - double(blocks / segment(schedule))) * double(Space::seam);
  }
  static constexpr double least_cost(const Mixture& of, std::size_t whole) {
    double cost = all_under(of.first).extra + double(whole) * at_least(redone(of.last) - redone(of.first)) -
                  slack_of(of.first) - slack_of(of.last);
    if (of.odd > 0) cost += double(of.odd) * at_least(redone(of.between) - redone(of.first)) - slack_of(of.between);
    return cost;
  }
  /// With which numbers of last blocks a mixture may come before `best`.
  static constexpr BlockSpan span_of(const Mixture& of, const Wanted& wanted, const RankedSchedule& best) {
    if (!is_apart(of) || Space::depth < 2 + of.odd) return {};
    BlockSpan left{1, Space::depth - 1 - of.odd};
    if (Space::is_nested) return left;  // blocks of the inner Repeat follow other schedules in turn
    const double budget = double(wanted.by_bound && best.fits ? best.bound : wanted.budget) + double(Space::seam) +
                          slack_of_bytes(of.first) + slack_of_bytes(of.last);
    if (!wanted.by_bound && best.fits)
      left.keep(least_cost(of, 0), at_least(redone(of.last) - redone(of.first)), best.extra * (1 + tolerance));
    const OutlineShares &first = all_under(of.first).shares, &last = all_under(of.last).shares;
    const double more = held(of.last) - held(of.first),
                 odd = of.odd > 0 ? double(of.odd) * at_least(held(of.between) - held(of.first)) : 0;
    left.keep(double(first.ahead) + odd, at_least(more), budget);  // all is saved
    if (first.groups != 1 || !Space::is_even) return left;
    if (segment(of.last) == 1)
      left.keep(double(first.below) + double(last.inside) - double(last.below) - more + odd, at_least(more), budget);
    // Backward of the first blocks: what the last have saved is gone.
    BlockSpan segments = left;
    segments.keep(double(first.inside) - double(of.odd) * held(of.first) / double(Space::depth),
                  -held(of.first) / double(Space::depth), budget);
    const std::size_t ragged =
        Space::depth - of.odd < segment(of.first) ? 1 : Space::depth - of.odd - segment(of.first) + 1;
    if (segments.is_empty() || segments.from > ragged) segments.from = ragged;
    if (segments.from > left.from) left.from = segments.from;
    return left;
  }

  /// Whether it may come before `best` with this number of last blocks.
  static constexpr bool may_precede(const Mixture& of, std::size_t whole, const Wanted& wanted,
                                    const RankedSchedule& best) {
    if (!Space::is_even) return true;
    const OutlineShares &first = all_under(of.first).shares, &last = all_under(of.last).shares;
    const std::size_t others = Space::depth - whole - of.odd;
    const double cost = all_under(of.first).extra - first.redone + redone(of.first, others) +
                        redone(of.between, of.odd) + redone(of.last, whole);
    if (!wanted.by_bound && best.fits && cost > best.extra * (1 + tolerance)) return false;
    if (!wanted.by_bound && wanted.last.fits && cost < wanted.last.extra * (1 - tolerance)) return false;
    // Between two schedules a value is saved, if the second recomputes blocks from it; if not, it may be.
    const double seam = double(Space::seam), end = double(first.not_held) + (is_redone(of.last) ? 0 : seam),
                 budget = double(wanted.by_bound && best.fits ? best.bound : wanted.budget) + 1,
                 before = held(of.first, others) + held(of.between, of.odd) -
                          (of.odd > 0 && !is_redone(of.between) ? seam : 0),
                 all_of_last = held(of.last) + double(last.not_held);
    if (double(first.ahead) - held(of.first) + before + held(of.last, whole) - end > budget) return false;
    if (first.groups != 1) return true;
    if (whole >= segment(of.last) && double(first.below) + double(last.inside) - double(last.below) - all_of_last +
                                             before + held(of.last, whole, true) - end + double(last.not_held) >
                                         budget)
      return false;
    return others < segment(of.first) ||
           double(first.inside) - held(of.first) + held(of.first, others, true) - 2 * seam <= budget;
  }

  // ---- the search

  /// How far it is.   seed, tried   the mixture that it begins with; how many are done     left   of the next, if is_open
  struct State {
    RankedSchedule best{};
    std::size_t seed = 0, tried = 0, walks = 0;
    BlockSpan left{};
    double seed_cost = -1;
    bool is_seeded = false, is_open = false;
  };
  static constexpr bool is_cheaper_with_more(const Mixture& of) { return redone(of.last) <= redone(of.first); }
  /// Steps of a compiler: what a constant expression may take, and what a line and an outline do.
  static constexpr std::size_t most_work = 400'000, line_work = 1200, walk_work = 1500 * Space::size;

  /// Begins with the best of all that are not mixed.
  static constexpr State start(const Wanted& wanted) {
    State state{};
    for (RankedSchedule one : Space::uniforms) {
      wanted.judge(one);
      if (wanted.precedes(one, state.best)) state.best = one;
    }
    state.is_seeded = wanted.by_bound;
    if (count() == 0 || (state.best.fits && !wanted.by_bound && state.best.extra == 0)) state.tried = count();
    if (state.tried == count()) state.is_seeded = true;
    return state;
  }
  /// Looks for the mixture that the lines say is cheapest: with a good one first, fewer outlines are walked.
  static constexpr State seeded(State state, const Wanted& wanted) {
    std::size_t work = 0;
    for (; state.tried < count() && work < most_work; ++state.tried, work += line_work) {
      const Mixture mixture = at(state.tried);
      const BlockSpan span = span_of(mixture, wanted, state.best);
      if (span.is_empty()) continue;
      const double cost = least_cost(mixture, is_cheaper_with_more(mixture) ? span.to : span.from);
      if (state.seed_cost >= 0 && cost >= state.seed_cost) continue;
      state.seed_cost = cost;
      state.seed = state.tried;
    }
    if (state.tried < count()) return state;
    state.is_seeded = true;
    state.tried = 0;
    return state;
  }
  /// Goes on until all is done, or as long as one constant expression may take.
  static constexpr State advance(State state, const Wanted& wanted) {
    if (!state.is_seeded) return seeded(state, wanted);
    for (std::size_t work = 0; state.tried < count() && work < most_work;) {
      std::size_t number = state.seed + state.tried;
      if (number >= count()) number -= count();
      const Mixture mixture = at(number);
      if (!state.is_open) {
        state.left = span_of(mixture, wanted, state.best);
        state.is_open = true;
        work += line_work;
      }
      if (state.left.is_empty()) {
        state.is_open = false;
        ++state.tried;
        continue;
      }
      const std::size_t whole = is_cheaper_with_more(mixture) ? state.left.to-- : state.left.from++;
      work += line_work;
      if (!may_precede(mixture, whole, wanted, state.best)) continue;
      RankedSchedule one = Space::ranked(mixture, whole, Space::count + number);
      wanted.judge(one);
      ++state.walks;
      work += walk_work;
      if (!one.fits || !wanted.precedes(one, state.best)) continue;
      state.best = one;
      const BlockSpan now = span_of(mixture, wanted, one);
      if (now.from > state.left.from) state.left.from = now.from;
      if (now.to < state.left.to) state.left.to = now.to;
    }
    return state;
  }
  static constexpr bool is_done(const State& state) { return state.is_seeded && state.tried >= count(); }
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
