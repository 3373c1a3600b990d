// regimen/programs/budget.hpp — Checkpoint<Budget<Bytes>>: the first of some schedules of recomputation whose plan
// fits.
//
// The order of the schedules, in which no later one recomputes less, stands at policy/checkpoint.hpp (Budget). It
// depends on their plans, and never on Bytes: so a larger budget recomputes no more. Segments of more blocks recompute
// more of each; layers beside them, and blocks that are not kept, are recomputed besides.
//
// Peaks grow with the number of kept blocks, and lie at or below the line between those of its ends, if all Repeats are
// alike: the search begins with the number that this line gives, and one more. If that does not fit, it goes on with
// smaller ones, as they stand in the order.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/programs/layer_costs.hpp>
#include <regimen/programs/recomputation.hpp>
#include <regimen/programs/schedule.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace regimen::programs {

/// Schedules of blocks, beside which the outputs of layers are recomputed.   Layers   none, or a Selective
template <class... Layers>
struct BlockSchedules {
  using Kept = std::conditional_t<sizeof...(Layers) == 0, Checkpoint<None>, Checkpoint<Layers...>>;
  template <std::size_t N>
  using every = Checkpoint<Every<N>, Layers...>;
  template <std::size_t K>
  using keep_last = Checkpoint<Every<1>, Layers..., KeepLast<K, Layers...>>;
};

/// The plans of a recipe under other schedules.   RecipeOf   programs::Recipe
template <template <class, class> class RecipeOf, class Network, class Configuration>
struct BudgetPlans {
  using Layers = walk::layers_of<Network>;
  static constexpr std::size_t bytes = regimen::detail::budget_of<typename Configuration::checkpoint>,
                               depth = regimen::detail::repeat_depth<Layers>;
  static constexpr bool repeats =
      depth > 0 && boost::mp11::mp_all_of<regimen::detail::layers_in<Layers>, is_replayable>::value;

  template <class Schedule>
  using recipe_with = RecipeOf<Network, typename with_checkpoint<Configuration, Schedule>::type>;
  template <class Schedule>
  static constexpr std::size_t peak =
      (std::max)(recipe_with<Schedule>::step_walked.peak, recipe_with<Schedule>::evaluation_walked.peak);
  template <class Schedule>
  static constexpr bool fits = peak<Schedule> <= bytes;
  template <class Schedule>
  static constexpr double operations =
      recipe_with<Schedule>::step_walked.cost[static_cast<std::size_t>(op::Phase::backward)].flops;
  template <class First, class Second>
  using lesser = std::conditional_t<(peak<Second> < peak<First>), Second, First>;

  /// Recomputes the layers of fewer than `number` operations for each byte of their output.
  template <std::size_t number>
  using layers_below = typename named_schedule<If<FlopsPerByteBelow<number>::template of>, Layers,
                                               LayerCosts<RecipeOf, Network, Configuration>>::type;
  template <std::size_t number>
  using beside = std::conditional_t<std::is_same_v<layers_below<number>, Selective<>>, BlockSchedules<>,
                                    BlockSchedules<layers_below<number>>>;
};

/// The first of `Schedules` that fits; if none does, the one of least peak, of `Least`, too.
template <class Plans, class Least, class... Schedules>
struct first_within {
  using type = Least;
};
template <class Plans, class Least, class First, class... Others>
struct first_within<Plans, Least, First, Others...>
    : std::conditional_t<Plans::template fits<First>, boost::mp11::mp_identity<First>,
                         first_within<Plans, typename Plans::template lesser<Least, First>, Others...>> {};

/// first_within of the schedules `Others`, and then of segments of N, 2 N, 4 N, ... blocks.
template <class Plans, class Blocks, std::size_t N, class... Others>
struct segments_within : segments_within<Plans, Blocks, 2 * N, Others..., typename Blocks::template every<N>> {};
template <class Plans, class Blocks, std::size_t N, class... Others>
  requires(N > 1 && N * N > Plans::depth)
struct segments_within<Plans, Blocks, N, Others...> : first_within<Plans, Checkpoint<None>, Others...> {};

/// Keeps the last `number` times `step` blocks, or fewer, if that fits and recomputes no more than Every<1> does.
template <class Plans, class Blocks, std::size_t step, std::size_t number>
constexpr auto kept_within() {
  using One = Checkpoint<Every<1>>;
  using Next = typename Blocks::template keep_last<number * step>;
  if constexpr (number == 0) return boost::mp11::mp_identity<One>{};
  else if constexpr (Plans::template fits<Next> && Plans::template operations<Next> <= Plans::template operations<One>)
    return boost::mp11::mp_identity<Next>{};
  else return kept_within<Plans, Blocks, step, number - 1>();
}
/// The last number of steps to try: that of a line between Every<1> and the schedule of all blocks kept, and one more.
template <class Plans, class Blocks, std::size_t step>
constexpr std::size_t steps_to_try() {
  constexpr std::size_t least = Plans::template peak<Checkpoint<Every<1>>>,
                        most = Plans::template peak<typename Blocks::Kept>, last = (Plans::depth - 1) / step;
  return most > least ? (std::min)(Plans::depth * (Plans::bytes - least) / (most - least) / step + 1, last) : last;
}

template <class Plans>
constexpr auto schedule_within() {
  using Cheap = typename Plans::template beside<8>;
  using All = typename Cheap::Kept;
  using One = Checkpoint<Every<1>>;
  if constexpr (Plans::template fits<Checkpoint<None>>) return boost::mp11::mp_identity<Checkpoint<None>>{};
  else if constexpr (!Plans::repeats) {
    return first_within<Plans, Checkpoint<None>, All, typename Plans::template beside<64>::Kept,
                        typename Plans::template beside<~std::size_t{0}>::Kept>{};
  } else {
    constexpr bool saves = Plans::template peak<All> < Plans::template peak<Checkpoint<None>>,
                   is_cheaper = saves && Plans::template operations<All> <= Plans::template operations<One>;
    constexpr std::size_t step = (Plans::depth + 15) / 16;
    using Beside = std::conditional_t<is_cheaper, Cheap, BlockSchedules<>>;
    using InSegments = std::conditional_t<saves, Cheap, BlockSchedules<>>;
    if constexpr (is_cheaper && Plans::template fits<All>) return boost::mp11::mp_identity<All>{};
    else if constexpr (Plans::template fits<One>)
      return kept_within<Plans, Beside, step, steps_to_try<Plans, Beside, step>()>();
    else return segments_within<Plans, InSegments, 1, One, All>{};
  }
}

/// What is chosen: the schedule in the words of Checkpoint, its recipe, and the peak of that; the least peak, if
/// nothing fits.
template <template <class, class> class RecipeOf, class Network, class Configuration>
struct BudgetChoice {
 private:
  using Plans = BudgetPlans<RecipeOf, Network, Configuration>;

 public:
  using Schedule = typename decltype(schedule_within<Plans>())::type;
  using Recipe = typename Plans::template recipe_with<Schedule>;
  static constexpr std::size_t peak = Plans::template peak<Schedule>;
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
