// regimen/program/budget.hpp — Checkpoint<Budget<Bytes>>: the cheapest schedule of recomputation whose plan fits.
//
// The schedules of the space (policy/checkpoint.hpp) are ranked by outlines (program/outline.hpp), which cost a compiler
// little: those that take more than Bytes by a bound from below are left out. Then plans decide, in the order of the
// ranks: the first schedule whose plan fits is the cheapest of all that fit. The order does not depend on Bytes, so a
// smaller budget is given the same schedule, or a later one that takes less memory.
//
//   cost   of a compilation: GPT-2 of 48 blocks takes clang 19 4.3 s under Every<1>, and 6.2 s under a Budget that chooses
//          among 112 schedules, each with any number of whole blocks; each plan that is tried and does not fit, 1 s more.
//          Recipes without Budget instantiate nothing of this
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/program/outline.hpp>
#include <regimen/program/plan.hpp>
#include <regimen/program/sketch.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace regimen::train {

/// The configuration with another Checkpoint.
template <class Configuration, class Checkpoint>
struct with_checkpoint;
template <template <class...> class Configuration, class... Policies, class Checkpoint>
struct with_checkpoint<Configuration<Policies...>, Checkpoint> {
 private:
  template <class P>
  using replaced = std::conditional_t<!std::is_same_v<typename P::axis, axis::checkpoint>, boost::mp11::mp_list<P>,
                                      std::conditional_t<std::is_same_v<Checkpoint, regimen::Checkpoint<None>>,
                                                         boost::mp11::mp_list<>, boost::mp11::mp_list<Checkpoint>>>;

 public:
  using type =
      boost::mp11::mp_apply<Configuration, boost::mp11::mp_append<boost::mp11::mp_list<>, replaced<Policies>...>>;
};

/// A schedule of the space, and what its outline says.   block   index in the list of segments
struct RankedSchedule {
  OutlineSchedule schedule{};
  std::size_t bound = 0, index = 0;
  double extra = 0;
  bool fits = false;

  constexpr bool before(const RankedSchedule& other) const {
    if (fits != other.fits) return fits;
    if (extra != other.extra) return extra < other.extra;
    if (bound != other.bound) return bound < other.bound;
    return index < other.index;
  }
};

/// A chosen schedule as numbers and names.
template <class Schedule>
constexpr void describe(Recomputation&, const Schedule*) {}
template <std::size_t N>
constexpr void describe(Recomputation& found, const Every<N>*) {
  found.segment = N;
}
template <std::size_t K>
constexpr void describe(Recomputation& found, const KeepLast<K>*) {
  found.whole = K;
}
template <class... Layers>
constexpr void describe(Recomputation& found, const Selective<Layers...>*) {
  std::size_t i = 0;
  ((found.layers[i++] = Layers::name), ...);
}
template <class... Schedules>
constexpr Recomputation recomputation_of(const Checkpoint<Schedules...>*) {
  Recomputation found{};
  (describe(found, static_cast<const Schedules*>(nullptr)), ...);
  return found;
}

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
        if (plain.output_read[i] && ((parts[i].again >> bit) & 1)) takes[bit] += times[i] * parts[i].y;
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

  static constexpr RankedSchedule ranked(std::size_t index, std::size_t whole, std::size_t budget) {
    RankedSchedule made{};
    made.index = index;
    made.schedule.segment = segments.of[index % segments.count];
    made.schedule.whole = whole;
    std::size_t chosen = index / segments.count;
    for (const std::uint64_t layer : selectable.bits) {
      if (chosen % 2 != 0) made.schedule.layers |= layer;
      chosen /= 2;
    }
    Sketch<size> sketch(parts.data(), made.schedule);
    sketch.walk_on(base);
    made.bound = sketch.bound;
    made.extra = sketch.extra;
    made.fits = made.bound <= budget;
    return made;
  }
  /// With as many whole blocks as its bound allows.
  static constexpr RankedSchedule with_most_whole(std::size_t index, std::size_t budget) {
    const std::size_t segment = segments.of[index % segments.count];
    if (segment == 0 || segment == depth) return ranked(index, 0, budget);
    RankedSchedule low = ranked(index, 1, budget);
    if (!low.fits) return ranked(index, 0, budget);
    RankedSchedule high = ranked(index, depth - segment, budget);
    if (high.fits) return high;
    while (high.schedule.whole - low.schedule.whole > 1) {  // the bound is nearly a line
      const std::size_t from = low.schedule.whole, to = high.schedule.whole,
                        slope = (high.bound - low.bound) / (to - from),
                        guess = from + (budget - low.bound) / (slope > 0 ? slope : 1);
      const RankedSchedule between = ranked(index, guess <= from ? from + 1 : guess >= to ? to - 1 : guess, budget);
      (between.fits ? low : high) = between;
    }
    return low;
  }
  // Constants of their own: compilers count the steps of each constant expression apart.
  template <std::size_t index>
  static constexpr RankedSchedule most_whole = with_most_whole(index, bytes);
  template <std::size_t index, std::size_t whole>
  static constexpr RankedSchedule least_whole = ranked(index, whole, bytes);

  using Ranks = std::array<RankedSchedule, count>;
  static constexpr std::size_t cheapest(const Ranks& ranks) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (ranks[i].before(ranks[best])) best = i;
    return best;
  }
  /// Without the cheapest: in its place the same with a whole block less.
  static constexpr Ranks without_cheapest(const Ranks& ranks) {
    Ranks others = ranks;
    RankedSchedule& best = others[cheapest(ranks)];
    if (best.schedule.whole > 0) best = ranked(best.index, best.schedule.whole - 1, bytes);
    else best.fits = false;
    return others;
  }
  template <class Indices>
  struct ranks_of;
  template <std::size_t... index>
  struct ranks_of<std::index_sequence<index...>> {
    static constexpr Ranks all{most_whole<index>...};
    template <std::size_t whole>
    static constexpr Ranks with_whole{least_whole<index, whole>...};
  };
  using RanksOfAll = ranks_of<std::make_index_sequence<count>>;

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
  template <std::uint64_t layers, std::size_t segment, std::size_t whole,
            std::size_t known = (boost::mp11::mp_size<Layers>::value < 64 ? boost::mp11::mp_size<Layers>::value : 64)>
  using checkpoint_of = boost::mp11::mp_apply<
      Checkpoint,
      std::conditional_t<
          layers == 0 && segment == 0, list<None>,
          boost::mp11::mp_append<
              std::conditional_t<(segment > 0), list<Every<segment>>, list<>>,
              std::conditional_t<(whole > 0), list<KeepLast<whole>>, list<>>,
              std::conditional_t<layers != 0,
                                 list<boost::mp11::mp_apply<
                                     Selective, typename selected<layers, std::make_index_sequence<known>>::type>>,
                                 list<>>>>>;
  template <class Checkpoint>
  static constexpr std::size_t peak_with =
      (std::max)(recipe_with<Checkpoint>::step_walked.peak, recipe_with<Checkpoint>::evaluation_walked.peak);

  static constexpr std::size_t most_plans = 24;
  template <std::size_t failed>
  static constexpr const Ranks& ranks_after() {
    if constexpr (failed == 0) return RanksOfAll::all;
    else return later<failed>;
  }
  template <std::size_t failed>
  static constexpr Ranks later = without_cheapest(ranks_after<failed - 1>());
  template <std::size_t failed>
  static constexpr auto choose() {
    constexpr RankedSchedule best = ranks_after<failed>()[cheapest(ranks_after<failed>())];
    if constexpr (!best.fits || failed == most_plans) return least<0, 0>(list<Checkpoint<None>>{});
    else {
      using Cheapest = checkpoint_of<best.schedule.layers, best.schedule.segment, best.schedule.whole>;
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
      using Next = checkpoint_of<next.schedule.layers, next.schedule.segment, next.schedule.whole>;
      constexpr std::size_t place = 2 * next.index + next.schedule.whole + 1;
      if constexpr (peak_with<Next> < peak_with<Best>) return least<next.bound, place>(list<Next>{});
      else return least<next.bound, place>(best);
    }
  }
  static constexpr RankedSchedule next_by_bound(std::size_t bound, std::size_t from) {
    RankedSchedule next{};
    for (const Ranks* all : {&RanksOfAll::template with_whole<0>, &RanksOfAll::template with_whole<1>})
      for (const RankedSchedule& one : *all) {
        const std::size_t place = 2 * one.index + one.schedule.whole + 1;
        if (one.schedule.whole > 0 && (one.schedule.segment == 0 || one.schedule.segment == depth)) continue;
        if (one.bound < bound || (one.bound == bound && place <= from)) continue;
        if (next.fits &&
            (one.bound > next.bound || (one.bound == next.bound && place >= 2 * next.index + next.schedule.whole + 1)))
          continue;
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
