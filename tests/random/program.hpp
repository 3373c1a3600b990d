// tests/random/program.hpp — a seed's model, its policies, and a neighbour that must compute the same.
#pragma once

#include <regimen/programs/recipe.hpp>

#include "random/lists.hpp"

namespace regimen::random {

// ---- layers

template <class At>
struct fits_at {
  template <class Kind>
  using fn = mp::mp_bool<Kind::template fits<At>>;
};
template <class At, class Kind>
struct made_at {
  using type = typename Kind::template make<At>;
};
template <class At>
struct made_at<At, void> {
  using type = Nothing<At>;
};
/// The layer at a place: none where shrinking took it away, or nothing fits.
template <class At, bool has = At::Source::has(At::id)>
struct item {
  using type =
      typename made_at<At, std::conditional_t<AnyWithin::fits<At>, AnyWithin,
                                              picked<typename At::Source, At::id, 99, fits_at<At>, Layers>>>::type;
};
template <class At>
struct item<At, false> {
  using type = Nothing<At>;
};

template <class Parent, std::size_t index, std::size_t count, bool keeps, class X>
struct chain_from {
  using Here = typename item<At<typename Parent::Source, Parent::id * 16 + index + 1, X, typename Parent::Table,
                                typename Parent::Length, Parent::level + 1, keeps>>::type;
  using Rest = chain_from<Parent, index + 1, count, keeps, typename Here::Out>;
  using Layers = mp::mp_append<typename Here::Layers, typename Rest::Layers>;
  using Out = typename Rest::Out;
  using leaves = mp::mp_append<typename Here::leaves, typename Rest::leaves>;
  using weighted = mp::mp_append<typename Here::weighted, typename Rest::weighted>;
  using ids = mp::mp_append<typename Here::ids, typename Rest::ids>;
};
template <class Parent, std::size_t count, bool keeps, class X>
struct chain_from<Parent, count, count, keeps, X> {
  using Layers = mp::mp_list<>;
  using Out = X;
  using leaves = mp::mp_list<>;
  using weighted = mp::mp_list<>;
  using ids = mp::mp_list<>;
};
/// A Linear behind a branch whose shape has changed.
template <class X, class Start>
struct closed {
  using Layers = mp::mp_list<Linear<Start::columns>>;
};
template <class X>
struct closed<X, X> {
  using Layers = mp::mp_list<>;
};

template <class Parent, std::size_t count, bool keeps, bool closes>
struct Chain {
 private:
  using Drawn = chain_from<Parent, 0, count, keeps, typename Parent::X>;
  using Close =
      typename closed<typename Drawn::Out, std::conditional_t<closes, typename Parent::X, typename Drawn::Out>>::Layers;

 public:
  using Layers = mp::mp_append<typename Drawn::Layers, Close>;
  using Out = std::conditional_t<closes, typename Parent::X, typename Drawn::Out>;
  using leaves = mp::mp_append<typename Drawn::leaves, Close>;
  using weighted = mp::mp_append<typename Drawn::weighted, Close>;
  using ids = typename Drawn::ids;
};

/// The name of the length of a text; void of what is no text.
template <class X, bool has>
struct length_of {
  using type = void;
};
template <std::integral Token, std::size_t Positions>
struct length_of<Value<Token, Shape<Positions>>, true> {
  using type = TextLength<Positions>;
};
/// Whether some layer reads the length of this name.
template <class Length, class Layers>
inline constexpr bool reads_length = rule::is_read_within<Length, detail::layers_in<Layers>>;
template <class Layers>
inline constexpr bool reads_length<void, Layers> = false;

/// What a seed says of the model.
template <class Source_>
struct DrawnModel final {
  using Source = Source_;

 private:
  struct Extents {  // shrinking takes the smallest of all
    static constexpr std::size_t below(std::uint64_t which, std::size_t bound) {
      return Source::has(of_model + 1) ? Source::below(of_model, which, bound) : 0;
    }
    template <std::size_t count>
    static constexpr std::size_t one_of(std::uint64_t which, const std::size_t (&values)[count]) {
      return values[below(which, count)];
    }
  };
  using Kind = picked<Source, of_model, 99, always, Inputs>;
  /// Sometimes a bundle.
  using Given =
      Beside<typename Kind::template make<Extents>, Source::has(of_model + 4) && Source::below(of_model, 96, 6) == 0>;
  /// Sometimes a text has a length, which is kept where something reads it. A random text often ends with such a token.
  using Length =
      typename length_of<typename Given::X, (Source::has(of_model + 5) && Source::below(of_model, 95, 3) == 0)>::type;
  using Root = At<Source, 0, typename Given::X, typename Kind::template Table<Extents>, Length, 0, false>;
  using All = Chain<Root, 1 + Source::below(of_model, 98, 5), false, false>;
  /// Sometimes a second output.
  using Ends = std::conditional_t<Source::has(of_model + 3) && Source::below(of_model, 97, 8) == 0,
                                  TwoOutputs<typename All::Out>, OneOutput<typename All::Out>>;
  using Keeper = KeepLength<Length, PaddedWith<static_cast<std::int32_t>(Source::below(of_model, 94, 2))>>;
  static constexpr bool keeps_length = reads_length<Length, typename All::Layers>;
  using Kept =
      std::conditional_t<keeps_length,
                         mp::mp_list<mp::mp_at_c<
                             mp::mp_list<Keeper, Checkpointed<Keeper>,
                                         As<as_type<typename Source::compute, Source::below(of_model, 92, 4)>, Keeper>>,
                             Source::below(of_model, 93, 3)>>,
                         mp::mp_list<>>;

 public:
  using type = mp::mp_apply<
      Model, mp::mp_push_front<mp::mp_append<typename Given::Layers, Kept, typename All::Layers, typename Ends::Layers>,
                               Input<typename Given::Kind>>>;
  using Out = typename Ends::Out;
  using leaves = mp::mp_unique<
      mp::mp_append<typename All::leaves, std::conditional_t<keeps_length, mp::mp_list<Keeper>, mp::mp_list<>>>>;
  using weighted = mp::mp_unique<typename All::weighted>;
  using ids = mp::mp_push_back<typename All::ids, std::integral_constant<Id, of_model + 1>,
                               std::integral_constant<Id, of_model + 3>, std::integral_constant<Id, of_model + 4>,
                               std::integral_constant<Id, of_model + 5>>;
  static constexpr std::size_t depth = rule::repeat_depth<typename All::Layers>;
};

/// A short name for it, in symbols and errors.
template <class Source>
struct Network final : DrawnModel<Source>::type {};

/// Of the groups of a Split, which has a schedule of its own: 0 none, 1 the first, 2 the rest. No policy says it, so it is
/// drawn with the model, and neighbours have it in common.
template <class Model>
inline constexpr std::size_t group_with_schedule = 0;
template <class Source>
inline constexpr std::size_t group_with_schedule<Network<Source>> = Source::below(of_policy, 21, 3);

// ---- policies

template <class Policies>
inline constexpr bool compatible = false;
template <class... Policies>
inline constexpr bool compatible<mp::mp_list<Policies...>> = Compatible<Policies...>;
template <class Network, class Policies>
inline constexpr bool composable = false;
template <class Network, class... Policies>
inline constexpr bool composable<Network, mp::mp_list<Policies...>> = Composable<Network, Policies...>;

template <class Model>
struct fits_model {
  template <class Kind>
  using fn = mp::mp_bool<Kind::template fits<Model>>;
};

/// Policies with those of one more axis: the first of a few draws that is compatible with what was drawn before.
template <class Model, class Policies, class Choices, Id id, std::size_t try_ = 0>
constexpr auto with_choice() {
  using Source = typename Model::Source;
  if constexpr (!Source::has(id) || try_ == 4) return Policies{};
  else {
    using Chosen = typename picked<Source, id, try_, fits_model<Model>, Choices>::template make<Model>;
    using All = mp::mp_append<Policies, Chosen>;
    if constexpr (mp::mp_empty<Chosen>::value) return Policies{};
    else if constexpr (compatible<All>) return All{};
    else return with_choice<Model, Policies, Choices, id, try_ + 1>();
  }
}
template <class Model, class Policies, std::size_t axis = 0>
constexpr auto with_all_choices() {
  if constexpr (axis == mp::mp_size<OtherAxes>::value) return Policies{};
  else
    return with_all_choices<
        Model, decltype(with_choice<Model, Policies, mp::mp_at_c<OtherAxes, axis>, of_policy + 16 * (axis + 1)>()),
        axis + 1>();
}

// ---- the neighbour

template <class Policies, class Axis>
using policy_in = detail::policy_for<mp::mp_apply<detail::decisions, Policies>, Axis>;
template <class... Axis>
struct decides_any {
  template <class Policy>
  using fn = mp::mp_contains<mp::mp_list<Axis...>, typename Policy::axis>;
};
template <class Policies, class... Axis>
using without = mp::mp_remove_if_q<Policies, decides_any<Axis...>>;
template <class Policies, class... Given>
using changed = mp::mp_append<without<Policies, typename Given::axis...>, mp::mp_list<Given...>>;

template <class Layer>
using couples = mp::mp_bool<rule::couples_samples<Layer>>;
/// Whether a layer of the model couples samples: then other micro-batches are another network.
template <class Model>
inline constexpr bool is_coupled = mp::mp_any_of<typename Model::leaves, couples>::value;
/// Whether the loss does.
template <class Policies>
inline constexpr bool loss_is_coupled =
    rule::couples_samples<typename policy_in<Policies, axis::loss>::function>;

/// A budget between what the program takes without recomputation, and with that of every block.
template <class Network, class Policies>
struct budgeted {
  template <class Schedule>
  static constexpr std::size_t peak =
      programs::Recipe<Network, mp::mp_apply<ConfigurationOf, changed<Policies, Checkpoint<Schedule>>>>::plan.peak;
  using type = changed<Policies, Checkpoint<Budget<(peak<None> + peak<Every<1>>) / 2>>>;
};

template <class Model, class Policies, class Move, Id id, std::size_t try_ = 0>
constexpr auto moved() {
  if constexpr (try_ == 6 || (std::is_same_v<Move, MoveBatch> && (is_coupled<Model> || loss_is_coupled<Policies>)))
    return Policies{};
  else if constexpr (std::is_same_v<Move, MoveBatch>) {
    using Batch_ = policy_in<Policies, axis::batch>;
    using Accumulate_ = policy_in<Policies, axis::accumulate>;
    using Moved = std::conditional_t<(Accumulate_::count > 1),
                                     changed<Policies, Batch<Batch_::size * Accumulate_::count>, Accumulate<1>>,
                                     changed<Policies, Batch<1>, Accumulate<Batch_::size>>>;
    // A larger batch may no longer fit into a Budget of the one before.
    if constexpr (composable<Network<typename Model::Source>, Moved>) return Moved{};
    else return Policies{};
  } else if constexpr (std::is_same_v<typename Move::Axis, axis::checkpoint> && try_ == 0 && Model::depth > 0 &&
                       Model::Source::below(id, 50, 4) == 0) {
    // Not with KeepSegments, if the budget takes a schedule without segments.
    using Fits = typename budgeted<Network<typename Model::Source>, Policies>::type;
    if constexpr (composable<Network<typename Model::Source>, Fits>) return Fits{};
    else return moved<Model, Policies, Move, id, try_ + 1>();
  } else {
    using Chosen = typename picked<typename Model::Source, id, try_, fits_model<Model>,
                                   typename Move::Choices>::template make<Model>;
    // Who says no Communicator says nothing of ranks.
    using Others = std::conditional_t<
        !std::is_same_v<typename Move::Axis, axis::communicator>, without<Policies, typename Move::Axis>,
        std::conditional_t<mp::mp_empty<Chosen>::value, without<Policies, axis::communicator, axis::world, axis::shard>,
                           without<Policies, axis::communicator, axis::world>>>;
    using All = mp::mp_append<Chosen, Others>;  // the order of policies is no part of a program
    if constexpr (std::is_same_v<policy_in<All, typename Move::Axis>, policy_in<Policies, typename Move::Axis>>)
      return moved<Model, Policies, Move, id, try_ + 1>();
    else if constexpr (!compatible<All>) return moved<Model, Policies, Move, id, try_ + 1>();
    else if constexpr (!composable<Network<typename Model::Source>, All>)
      return moved<Model, Policies, Move, id, try_ + 1>();
    else return All{};
  }
}

inline constexpr std::size_t move_count = mp::mp_size<Moves>::value, pair_count = move_count * (move_count - 1) / 2;
/// Every pair of moves has its turn; a third one sometimes.
constexpr std::array<std::size_t, 2> pair_of(std::uint64_t seed) {
  std::size_t first = 0, left = static_cast<std::size_t>(seed % pair_count);
  while (left >= move_count - 1 - first) left -= move_count - 1 - first++;
  return {first, first + 1 + left};
}
template <std::uint64_t seed, std::uint64_t attempt>
using moves_of =
    mp::mp_unique<mp::mp_list<mp::mp_at_c<Moves, pair_of(seed)[0]>, mp::mp_at_c<Moves, pair_of(seed)[1]>,
                              mp::mp_at_c<Moves, (Philox::mix(Philox::mix(seed, attempt), 77) % 3 == 0
                                                      ? Philox::mix(Philox::mix(seed, attempt), 78) % move_count
                                                      : pair_of(seed)[0])>>>;

template <class Model, class Policies, class Left, Id id>
constexpr auto moved_by_all() {
  if constexpr (mp::mp_empty<Left>::value) return Policies{};
  else if constexpr (!Model::Source::has(id)) return moved_by_all<Model, Policies, mp::mp_pop_front<Left>, id + 1>();
  else
    return moved_by_all<Model, decltype(moved<Model, Policies, mp::mp_front<Left>, id>()), mp::mp_pop_front<Left>,
                        id + 1>();
}

// ---- all of it

template <class Move>
using is_exact = mp::mp_bool<Move::is_exact>;

/// One attempt at a seed.
template <std::uint64_t Seed, std::uint64_t Attempt, Id... Without>
struct Attempted final {
  using Bare = Source<Seed, Attempt, fp32, Without...>;
  using Moved = moves_of<Seed, Attempt>;
  // Differences in rounding are looked at in fp64 alone, where a mistake stands out of them.
  static constexpr bool in_fp64 = !mp::mp_all_of<Moved, is_exact>::value;
  using NumberChoices = std::conditional_t<in_fp64, Equally<Say<Precision<fp64>>>, Formats>;
  using First =
      decltype(with_choice<DrawnModel<Bare>, mp::mp_list<>, NumberChoices, in_fp64 ? of_model + 2 : of_policy>());
  using Drawn = DrawnModel<Source<Seed, Attempt, typename policy_in<First, axis::precision>::compute, Without...>>;
  using Net = Network<typename Drawn::Source>;
  using AllPolicies = decltype(with_all_choices<Drawn, First>());
  // Not every unit can be cut.
  using Policies = std::conditional_t<composable<Net, AllPolicies>, AllPolicies, without<AllPolicies, axis::shard>>;
  static constexpr bool composes = composable<Net, Policies>;
};
template <std::uint64_t Seed, std::uint64_t Attempt, Id... Without>
constexpr auto first_that_composes() {
  // Shrinking keeps to its attempt: the program with less in it is to be the same otherwise.
  if constexpr (Attempted<Seed, Attempt>::composes) return Attempted<Seed, Attempt, Without...>{};
  else return first_that_composes<Seed, Attempt + 1, Without...>();
}

/// A seed's program: its Network, its Policies, its NeighbourPolicies.
template <std::uint64_t Seed, Id... Without>
struct Program final {
  using Attempt = decltype(first_that_composes<Seed, 0, Without...>());
  using Drawn = typename Attempt::Drawn;
  using Net = typename Attempt::Net;
  using Policies = typename Attempt::Policies;
  using NeighbourPolicies = decltype(moved_by_all<Drawn, Policies, typename Attempt::Moved, of_neighbour>());
  static constexpr bool composes = Attempt::composes;

  // The gradient check needs one rank, in fp64.
  using Wide = Network<Source<Seed, Drawn::Source::attempt, fp64, Without...>>;
  using WidePolicies = changed<
      without<Policies, axis::loss_scale, axis::communicator, axis::world, axis::shard, axis::debug, axis::target>,
      Precision<fp64>>;
};

}  // namespace regimen::random
// SPDX-License-Identifier: Apache-2.0
