// regimen/program/budget.hpp — Checkpoint<Budget<Bytes>>: a cheap schedule of recomputation whose plan fits.
//
// The schedules of the space (policy/checkpoint.hpp) are ranked by outlines (program/outline.hpp), which cost a compiler
// little: those that take more than Bytes by a bound from below are left out. Then plans decide, in the order of the
// ranks: the first schedule whose plan fits. Of a mixture only one number of blocks is ranked, the largest that is found to
// fit, as if memory rose and operations fell with it. With segments longer than a block neither always does: then a cheaper
// number may be missed, and a smaller budget is not proved to take less memory (tests have not seen it take more).
//
//   mixtures   if all blocks follow one schedule, they take so many bytes and operations; a mixture of two schedules takes
//              what lies on the line between. So the best mixtures are of neighbours on the line below all schedules, and
//              one odd block fills what is left where the grain is a block
//
//   cost   of a compilation: GPT-2 of 48 blocks, whose plan is made, takes clang 14 2.9 s of processor time under Every<1>,
//          and 6.4 s under a Budget that finds a mixture; each plan that is tried and does not fit takes a second or two
//          more. Recipes without Budget instantiate nothing of this
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/program/outline.hpp>
#include <regimen/program/recomputation.hpp>
#include <regimen/program/sketch.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace regimen::train {

/// The search.   RecipeOf   train::Recipe
template <template <class, class> class RecipeOf, class Network, class Configuration>
struct BudgetSearch {
  template <class Checkpoint>
  using recipe_with = RecipeOf<Network, typename with_checkpoint<Configuration, Checkpoint>::type>;
  using Plain = recipe_with<Checkpoint<None>>;
  using Walk = typename Plain::Planned;
  using Body = typename Plain::Bound::Flat;
  static constexpr std::size_t bytes = regimen::detail::budget_of<typename Configuration::checkpoint>;

  // ---- the space

  template <class Layer>
  struct replays {
    static constexpr bool value = [] {
      if constexpr (requires { Layer::replayable; }) return bool(Layer::replayable);
      else return true;
    }();
  };
  template <class Layer>
  struct can_be_selected {
    static constexpr bool value = replays<Layer>::value && !regimen::detail::is_composite<Layer>;
  };
  using All = boost::mp11::mp_unique<regimen::detail::layers_in<walk::layers_of<Network>>>;
  using Layers = boost::mp11::mp_copy_if<All, can_be_selected>;
  using Draws = OutlineOf<Walk, Layers>;
  static constexpr std::size_t size = Draws::template size<Body>();

  static constexpr std::array<OutlinePart, size> parts = [] {
    std::array<OutlinePart, size> all{};
    Draws::template draw<Body>(all.data(), 0, 0, Plain::batch);
    return all;
  }();
  /// Bytes below the saved stack of the layers.
  static constexpr std::size_t base = [] {
    Walk walk(Plain::batch, Plain::planned_ranks, std::size_t{0}, Plain::planned_ranks, false);
    return Plain::Step::setup(walk).end + Plain::Bound::tied_bytes(Plain::planned_ranks, true) +
           Plain::Bound::named_bytes(walk);
  }();

  /// The layers that may be recomputed, as bits: at most five, those whose outputs take most bytes on the saved stack.
  struct Selectable {
    std::array<std::uint64_t, 5> bits{};
    std::size_t count = 0;
  };
  static constexpr bool are_one(std::size_t bit, std::size_t other) {
    bool one = true;
    for (const OutlinePart& part : parts) one = one && ((part.again >> bit) & 1) == ((part.again >> other) & 1);
    return one;
  }
  static constexpr Selectable selectable = [] {
    std::array<std::size_t, 64> takes{};
    std::array<std::size_t, size> times{};
    std::uint64_t refused = 0;
    const Sketch<size> plain(parts.data(), {});
    for (std::size_t i = 0; i < size; ++i) times[i] = 1;
    for (std::size_t i = 0; i < size; ++i)
      if (parts[i].kind == OutlinePart::Kind::repeat)
        for (std::size_t inner = i + 1; inner < parts[i].next; ++inner) times[inner] *= parts[i].count;
    for (std::size_t i = 0; i < size; ++i) {
      if (parts[i].reads == Reads::output || parts[i].reads == Reads::input_and_output) refused |= parts[i].again;
      for (std::size_t bit = 0; bit < 64; ++bit)
        if (plain.output_read(i) && ((parts[i].again >> bit) & 1)) takes[bit] += times[i] * parts[i].y;
    }
    Selectable chosen{};
    for (; chosen.count < chosen.bits.size(); ++chosen.count) {
      std::size_t most = 64;
      for (std::size_t bit = 0; bit < 64; ++bit)
        if (takes[bit] > 0 && !((refused >> bit) & 1) && (most == 64 || takes[bit] > takes[most])) most = bit;
      if (most == 64) break;
      chosen.bits[chosen.count] = std::uint64_t{1} << most;
      for (std::size_t bit = 0; bit < 64; ++bit)  // what is fused with it is recomputed with it
        if (bit != most && are_one(most, bit)) takes[bit] = 0;
      takes[most] = 0;
    }
    return chosen;
  }();

  static constexpr std::size_t depth = [] {
    std::size_t most = 0;
    for (const OutlinePart& part : parts)
      if (part.kind == OutlinePart::Kind::repeat && part.count > most) most = part.count;
    return most;
  }();
  static constexpr bool all_replay = boost::mp11::mp_all_of<All, replays>::value;

  /// Every<0>, which is none, and the segments that may be chosen.
  struct Segments {
    std::array<std::size_t, 34> of{};
    std::size_t count = 1;
  };
  static constexpr Segments segments = [] {
    Segments all{};
    for (std::size_t n = 1; all_replay && n <= depth; n += n < 4 ? 1 : std::bit_floor(n) / 2) {
      all.of[all.count++] = n;
      if (n * n >= depth) break;
    }
    return all;
  }();
  static constexpr std::size_t count = (std::size_t{1} << selectable.count) * segments.count;

  // ---- their ranks

  static constexpr OutlineSchedule schedule_of(std::size_t index) {
    OutlineSchedule made{0, segments.of[index % segments.count]};
    std::size_t chosen = index / segments.count;
    for (const std::uint64_t layer : selectable.bits) {
      if (chosen % 2 != 0) made.layers |= layer;
      chosen /= 2;
    }
    return made;
  }
  static constexpr RankedSchedule ranked(const Mixture& mixture, std::size_t whole, std::size_t index) {
    RankedSchedule made{};
    made.index = index;
    made.whole = whole;
    const std::size_t others = mixture.swapped ? mixture.first : mixture.last;
    made.schedules.of[0] = schedule_of(mixture.swapped ? mixture.last : mixture.first);
    made.schedules.of[1] = schedule_of(mixture.odd > 0 ? mixture.between : others);
    made.schedules.of[2] = schedule_of(others);
    made.schedules.whole[0] = mixture.swapped ? depth - whole : mixture.odd + whole;
    made.schedules.whole[1] = mixture.odd > 0 ? whole : 0;
    Sketch<size> sketch(parts.data(), made.schedules);
    sketch.walk_on(base);
    made.bound = sketch.bound;
    made.extra = sketch.extra;
    return made;
  }
  // Constants of their own: compilers count the steps of each constant expression apart.
  template <std::size_t index>
  static constexpr RankedSchedule of_all_blocks = ranked(Mixture{index, index, 0, 0, false}, 0, index);
  template <class Indices>
  struct uniform;
  template <std::size_t... index>
  struct uniform<std::index_sequence<index...>> {
    static constexpr std::array<RankedSchedule, count> all{of_all_blocks<index>...};
  };
  static constexpr std::array<RankedSchedule, count> uniforms = uniform<std::make_index_sequence<count>>::all;

  struct Mixtures {
    std::array<Mixture, 12 * count + 128> of{};
    std::size_t made = 0;

    constexpr void add(const Mixture& one) {
      if (made < of.size()) of[made++] = one;
    }
  };
  /// Of the schedules that no other beats in both bytes and operations, those that are neighbours: as many as are cheap to
  /// compare, and those between which no other lies below the line. These also with one block under a third.
  static constexpr Mixtures mixtures = [] {
    Mixtures found{};
    std::array<std::size_t, count> best{}, line{};
    std::size_t members = 0, ends = 0;
    for (const RankedSchedule* before = nullptr;;) {
      const RankedSchedule* next = nullptr;
      for (const RankedSchedule& one : uniforms)
        if (!before || one.extra < before->extra)
          if (!next || one.bound < next->bound || (one.bound == next->bound && one.extra < next->extra)) next = &one;
      if (!next) break;
      best[members++] = next->index;
      before = next;
    }
    if (depth < 2) return found;
    const std::size_t width = members < 96 ? 96 / members : 1;
    for (std::size_t i = 0; i < members; ++i)
      for (std::size_t j = i + 1; j < members && j <= i + width; ++j) found.add({best[i], best[j], 0, 0, false});
    for (std::size_t i = 0; i < members; ++i) {
      const auto is_above = [&](std::size_t a, std::size_t b, std::size_t c) {  // whether b is
        const RankedSchedule &x = uniforms[best[a]], &y = uniforms[best[b]], &z = uniforms[best[c]];
        return (y.extra - x.extra) * double(z.bound - x.bound) >= (z.extra - x.extra) * double(y.bound - x.bound);
      };
      while (ends > 1 && is_above(line[ends - 2], line[ends - 1], i)) --ends;
      line[ends++] = i;
    }
    for (std::size_t i = 0; i + 1 < members; ++i) found.add({best[i], best[members - 1], 0, 0, true});
    for (std::size_t i = 0; i + 1 < ends; ++i) {
      if (line[i + 1] > line[i] + width) found.add({best[line[i]], best[line[i + 1]], 0, 0, false});
      if (depth > 2)
        for (std::size_t odd = 0; odd < members; ++odd)
          if (odd != line[i] && odd != line[i + 1]) found.add({best[line[i]], best[line[i + 1]], 1, best[odd], false});
    }
    return found;
  }();

  static constexpr RankedSchedule mixed(std::size_t mixture, std::size_t whole, std::size_t budget) {
    RankedSchedule made = ranked(mixtures.of[mixture], whole, count + mixture);
    made.fits = made.bound <= budget;
    return made;
  }
  /// With as many last blocks as its bound allows.
  static constexpr RankedSchedule with_most_last(std::size_t mixture, std::size_t budget) {
    RankedSchedule low = mixed(mixture, 1, budget);
    if (!low.fits) return low;
    RankedSchedule high = mixed(mixture, depth - 1 - mixtures.of[mixture].odd, budget);
    if (high.fits) return high;
    while (high.whole - low.whole > 1) {  // the bound is nearly a line
      const std::size_t from = low.whole, to = high.whole, slope = (high.bound - low.bound) / (to - from),
                        guess = from + (budget - low.bound) / (slope > 0 ? slope : 1);
      const RankedSchedule between = mixed(mixture, guess <= from ? from + 1 : guess >= to ? to - 1 : guess, budget);
      (between.fits ? low : high) = between;
    }
    return low;
  }
  template <std::size_t mixture>
  static constexpr RankedSchedule most_last = with_most_last(mixture, bytes);
  template <std::size_t mixture>
  static constexpr RankedSchedule one_last = mixed(mixture, 1, bytes);

  using Ranks = std::array<RankedSchedule, count + mixtures.made>;
  static constexpr std::size_t cheapest(const Ranks& ranks) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < ranks.size(); ++i)
      if (ranks[i].before(ranks[best])) best = i;
    return best;
  }
  /// Without the cheapest: in its place the same with one of the last blocks less.
  static constexpr Ranks without_cheapest(const Ranks& ranks) {
    Ranks others = ranks;
    RankedSchedule& best = others[cheapest(ranks)];
    if (best.whole > 1) best = mixed(best.index - count, best.whole - 1, bytes);
    else best.fits = false;
    return others;
  }
  template <class Indices>
  struct ranks_of;
  template <std::size_t... mixture>
  struct ranks_of<std::index_sequence<mixture...>> {
    static constexpr Ranks joined(std::initializer_list<RankedSchedule> mixed) {
      Ranks all{};
      for (std::size_t i = 0; i < count; ++i) {
        all[i] = uniforms[i];
        all[i].fits = all[i].bound <= bytes;
      }
      std::size_t i = count;
      for (const RankedSchedule& one : mixed) all[i++] = one;
      return all;
    }
    static constexpr Ranks most = joined({most_last<mixture>...}), least = joined({one_last<mixture>...});
  };
  using RanksOfAll = ranks_of<std::make_index_sequence<mixtures.made>>;

  // ---- plans

  template <std::uint64_t layers, class Indices>
  struct selected;
  template <std::uint64_t layers, std::size_t... i>
  struct selected<layers, std::index_sequence<i...>> {
    using type = boost::mp11::mp_append<
        boost::mp11::mp_list<>,
        std::conditional_t<((layers >> i) & 1) != 0, boost::mp11::mp_list<boost::mp11::mp_at_c<Layers, i>>,
                           boost::mp11::mp_list<>>...>;
  };
  template <class... Schedules>
  using list = boost::mp11::mp_list<Schedules...>;
  template <std::uint64_t layers, std::size_t segment,
            std::size_t known = (boost::mp11::mp_size<Layers>::value < 64 ? boost::mp11::mp_size<Layers>::value : 64)>
  using schedules_of = boost::mp11::mp_append<
      std::conditional_t<(segment > 0), list<Every<segment>>, list<>>,
      std::conditional_t<
          layers != 0,
          list<boost::mp11::mp_apply<Selective, typename selected<layers, std::make_index_sequence<known>>::type>>,
          list<>>>;
  template <class... Schedules>
  using none_or = std::conditional_t<sizeof...(Schedules) == 0, Checkpoint<None>, Checkpoint<Schedules...>>;
  template <std::size_t whole>
  struct last_by {
    template <class... Schedules>
    using type = KeepLast<whole, Schedules...>;
  };
  /// The schedules of all blocks that are under `levels` or later ones.   At   a RankedSchedule, as a type
  template <class At, std::size_t level>
  static constexpr auto schedules_from() {
    constexpr OutlineSchedules all = At::value().schedules;
    using Here = schedules_of<all.of[level].layers, all.of[level].segment>;
    if constexpr (all.whole[level] == 0) return Here{};
    else
      return boost::mp11::mp_push_back<Here, boost::mp11::mp_apply<last_by<all.whole[level]>::template type,
                                                                   decltype(schedules_from<At, level + 1>())>>{};
  }
  template <class At>
  using checkpoint_t = boost::mp11::mp_apply<none_or, decltype(schedules_from<At, 0>())>;

  template <class Checkpoint>
  static constexpr std::size_t peak_with =
      (std::max)(recipe_with<Checkpoint>::step_walked.peak, recipe_with<Checkpoint>::evaluation_walked.peak);

  static constexpr std::size_t most_plans = 24;
  template <std::size_t failed>
  static constexpr const Ranks& ranks_after() {
    if constexpr (failed == 0) return RanksOfAll::most;
    else return later<failed>;
  }
  template <std::size_t failed>
  static constexpr Ranks later = without_cheapest(ranks_after<failed - 1>());
  template <std::size_t failed>
  static constexpr auto choose() {
    constexpr RankedSchedule best = ranks_after<failed>()[cheapest(ranks_after<failed>())];
    if constexpr (!best.fits || failed == most_plans) return least<0, 0>(list<Checkpoint<None>>{});
    else {
      struct Best {
        static constexpr RankedSchedule value() { return ranks_after<failed>()[cheapest(ranks_after<failed>())]; }
      };
      using Cheapest = checkpoint_t<Best>;
      if constexpr (peak_with<Cheapest> <= bytes) return list<Cheapest>{};
      else return choose<failed + 1>();
    }
  }

  /// The schedule of least peak: plans in the order of their bounds, until these are above the least peak found.
  ///   bound, from   of the one planned before; its bound and its place among those with an equal bound
  template <std::size_t bound, std::size_t from, class Best>
  static constexpr auto least(list<Best> best) {
    constexpr RankedSchedule next = next_by_bound(bound, from);
    if constexpr (!next.fits || (bound > 0 && next.bound >= peak_with<Best>)) return best;
    else {
      struct AtNext {
        static constexpr RankedSchedule value() { return next_by_bound(bound, from); }
      };
      using Next = checkpoint_t<AtNext>;
      constexpr std::size_t place = next.index + 1;
      if constexpr (peak_with<Next> < peak_with<Best>) return least<next.bound, place>(list<Next>{});
      else return least<next.bound, place>(best);
    }
  }
  static constexpr RankedSchedule next_by_bound(std::size_t bound, std::size_t from) {
    RankedSchedule next{};
    for (const RankedSchedule& one : RanksOfAll::least) {
      if (one.bound < bound || (one.bound == bound && one.index + 1 <= from)) continue;
      if (next.fits && one.bound >= next.bound) continue;
      next = one;
      next.fits = true;
    }
    return next;
  }
};

/// What the search finds: the schedule in the words of Checkpoint, its recipe, and the peak of that; the least peak, if
/// nothing fits. (Another class: the search is complete here.)
template <template <class, class> class RecipeOf, class Network, class Configuration>
struct BudgetChoice {
 private:
  using Search = BudgetSearch<RecipeOf, Network, Configuration>;

 public:
  using Schedule = boost::mp11::mp_front<decltype(Search::template choose<0>())>;
  using Recipe = typename Search::template recipe_with<Schedule>;
  static constexpr std::size_t peak = Search::template peak_with<Schedule>;
};

}  // namespace regimen::train
