// regimen/programs/budget.hpp — Checkpoint<Budget<Bytes>>: a cheap schedule of recomputation whose plan fits.
//
// Outlines (programs/outline.hpp) rank the schedules of the space (policy/checkpoint.hpp): they are cheap for a
// compiler, and bound the bytes of a schedule from below; a schedule whose bound exceeds Bytes is left out. Lines bound
// mixtures (programs/mixtures.hpp). Then plans decide, in the order of the ranks: the search takes the first schedule
// whose plan fits. The order is the same for every budget, and a plan takes no less than its bound. So a smaller budget
// never yields a larger peak, with one exception: after 24 plans that do not fit, the schedule of least peak is taken.
//
//   mixtures   of any two schedules, by KeepLast<K, ...>, for every K. Bytes and operations of a mixture lie near the
//              line between its two schedules. Neighbours on the lower convex hull are also mixed with one to three
//              blocks of a third schedule, if no segment is longer than a block: these fill the rest of the budget.
//              With more than 40 schedules only those are mixed that no other beats in all that they take; if Repeats
//              are not alike, only those that no other beats in memory and operations, each with the two next to it on
//              either side
//
//   cost   of a compilation: GPT-2 of 48 blocks, whose plan is made, takes clang 14 3.2 s of processor time under Every<1>,
//          and 5.5 to 6 s under a Budget that finds a mixture, up to 9 s within a GiB of the least budget; each plan that is
//          tried and does not fit takes a second or two more. Recipes without Budget instantiate nothing of this
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/programs/mixtures.hpp>
#include <regimen/programs/outline.hpp>
#include <regimen/programs/recomputation.hpp>
#include <regimen/programs/sketch.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace regimen::programs {

/// The search.   RecipeOf   programs::Recipe
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

  /// Of the Repeats: see MixtureSearch.
  struct Depths {
    std::size_t depth = 0, seam = 0;
    double steepest = 0;
    bool is_even = true, is_nested = false;
  };
  static constexpr Depths depths = [] {
    Depths all{};
    for (std::size_t i = 0; i < size; ++i) {
      if (parts[i].kind != OutlinePart::Kind::repeat) continue;
      double part = 0;
      for (std::size_t outer = 0; outer <= i; ++outer)
        if (parts[outer].kind == OutlinePart::Kind::repeat && i < parts[outer].next) {
          part += 1 / double(parts[outer].count);
          all.is_nested = all.is_nested || outer < i;
        }
      all.is_even = all.is_even && !all.is_nested && (all.depth == 0 || all.depth == parts[i].count);
      all.depth = (std::max)(all.depth, parts[i].count);
      all.steepest = (std::max)(all.steepest, part);
      all.seam += parts[i].x;
    }
    return all;
  }();
  static constexpr std::size_t depth = depths.depth, seam = depths.seam;
  static constexpr double steepest = depths.steepest;
  static constexpr bool is_even = depths.is_even, is_nested = depths.is_nested;
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
    made.schedules.of[0] = schedule_of(mixture.first);
    made.schedules.of[1] = schedule_of(mixture.odd > 0 ? mixture.between : mixture.last);
    made.schedules.of[2] = schedule_of(mixture.last);
    made.schedules.whole[0] = mixture.odd + whole;
    made.schedules.whole[1] = mixture.odd > 0 ? whole : 0;
    Sketch<size> sketch(parts.data(), made.schedules);
    sketch.walk_on(base);
    made.bound = sketch.bound;
    made.extra = sketch.extra;
    made.shares = sketch.shares;
    return made;
  }
  // Constants of their own: compilers count the steps of each constant expression apart.
  template <std::size_t index>
  static constexpr RankedSchedule of_all_blocks = ranked(Mixture{index, index}, 0, index);
  template <class Indices>
  struct uniform;
  template <std::size_t... index>
  struct uniform<std::index_sequence<index...>> {
    static constexpr std::array<RankedSchedule, count> all{of_all_blocks<index>...};
  };
  static constexpr std::array<RankedSchedule, count> uniforms = uniform<std::make_index_sequence<count>>::all;

  // ---- what is mixed

  struct Members {
    std::array<std::size_t, count> of{};
    std::size_t made = 0;
  };
  struct Pairs {
    std::array<std::array<std::size_t, 2>, count> of{};
    std::size_t made = 0;
  };
  /// All schedules, and of very many those that no other beats in every way, by their bounds; where Repeats are not alike
  /// those that no other beats in bytes and operations.
  static constexpr Members members = [] {
    Members found{};
    for (const RankedSchedule& one : uniforms) {
      bool is_beaten = false;
      for (const RankedSchedule& other : uniforms)
        is_beaten = is_beaten || (count > 40 && other.beats(one)) || (!is_even && other.beats_as_a_whole(one));
      if (is_beaten) continue;
      std::size_t place = found.made++;
      for (; place > 0 && uniforms[found.of[place - 1]].bound > one.bound; --place)
        found.of[place] = found.of[place - 1];
      found.of[place] = one.index;
    }
    return found;
  }();
  /// Neighbours on the line of bytes and operations, below which no schedule of all blocks lies.
  static constexpr Pairs pairs = [] {
    Pairs found{};
    std::array<std::size_t, count> line{};
    std::size_t ends = 0;
    for (const RankedSchedule* before = nullptr;;) {
      const RankedSchedule* next = nullptr;
      for (const RankedSchedule& one : uniforms)
        if (!before || one.extra < before->extra)
          if (!next || one.bound < next->bound || (one.bound == next->bound && one.extra < next->extra)) next = &one;
      if (!next) break;
      const auto is_above = [&](std::size_t a, std::size_t b) {  // whether b is, between a and next
        const RankedSchedule &x = uniforms[a], &y = uniforms[b];
        return (y.extra - x.extra) * double(next->bound - x.bound) >=
               (next->extra - x.extra) * double(y.bound - x.bound);
      };
      while (ends > 1 && is_above(line[ends - 2], line[ends - 1])) --ends;
      line[ends++] = next->index;
      before = next;
    }
    for (std::size_t i = 0; i + 1 < ends; ++i) found.of[found.made++] = {line[i], line[i + 1]};
    return found;
  }();
  using Mixed = MixtureSearch<BudgetSearch>;

  // ---- the first that fit, each behind those whose plans do not

  /// Wish   Wanted, as the value() of a type
  template <class Wish, std::size_t steps>
  static constexpr auto began() {
    if constexpr (steps == 0) return Mixed::start(Wish::value());
    else return state<Wish, steps - 1>;
  }
  template <class Wish, std::size_t steps>
  static constexpr auto state = Mixed::advance(began<Wish, steps>(), Wish::value());
  template <class Wish, std::size_t steps = 0>
  static constexpr RankedSchedule first() {
    if constexpr (Mixed::is_done(state<Wish, steps>)) return state<Wish, steps>.best;
    else return first<Wish, steps + 1>();
  }
  template <bool by_bound, std::size_t failed>
  struct Found;
  template <bool by_bound, std::size_t failed>
  struct Wish {
    static constexpr Wanted value() {
      Wanted wanted{by_bound ? ~std::size_t{0} : bytes, by_bound, {}};
      if constexpr (failed > 0) wanted.last = Found<by_bound, failed - 1>::found;
      return wanted;
    }
  };
  template <bool by_bound, std::size_t failed>
  struct Found {  // apart from Wish: nvcc 13.0 loses the arguments of a class that names itself
    static constexpr RankedSchedule found = first<Wish<by_bound, failed>>();
  };

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
  /// The schedules of all blocks that are under `level` or later ones; a segment is no longer than the part of the blocks.
  ///   At   a type with a RankedSchedule that is `found`
  template <class At, std::size_t level>
  static constexpr auto schedules_from() {
    constexpr OutlineSchedules all = At::found.schedules;
    constexpr std::size_t last_of_all = [] {  // clang 14 warns of an index that is not used
      if constexpr (level == 0) return depth;
      else return At::found.schedules.whole[level - 1];
    }();
    constexpr std::size_t blocks = last_of_all - all.whole[level];
    using Here = schedules_of<all.of[level].layers, (std::min)(all.of[level].segment, blocks)>;
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
  static constexpr auto choose() {
    using Cheapest = Found<false, failed>;
    if constexpr (!Cheapest::found.fits || failed == most_plans) return least<0>(list<Checkpoint<None>>{});
    else if constexpr (peak_with<checkpoint_t<Cheapest>> <= bytes) return list<checkpoint_t<Cheapest>>{};
    else return choose<failed + 1>();
  }

  /// The schedule of least peak: plans in the order of their bounds, until these are above the least peak found.
  template <std::size_t planned, class Best>
  static constexpr auto least(list<Best> best) {
    using Next = Found<true, planned>;
    if constexpr (!Next::found.fits || (planned > 0 && Next::found.bound >= peak_with<Best>)) return best;
    else if constexpr (peak_with<checkpoint_t<Next>> < peak_with<Best>)
      return least<planned + 1>(list<checkpoint_t<Next>>{});
    else return least<planned + 1>(best);
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

}  // namespace regimen::programs
