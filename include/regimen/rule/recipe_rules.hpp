// regimen/rule/recipe_rules.hpp — the rules about a model bound to its policies: what is trained, sharded, recomputed.
#pragma once

#include <regimen/programs/recipe.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/layers_of_policies.hpp>
#include <regimen/rule/machine_rules.hpp>
#include <regimen/rule/options.hpp>
#include <regimen/rule/owners.hpp>
#include <regimen/rule/ranks.hpp>
#include <regimen/rule/rule_list.hpp>
#include <regimen/rule/shape_rules.hpp>
#include <regimen/rule/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace regimen::rule {

// ---- what trains

template <class Network, class Configuration, class Frozen>
inline constexpr std::size_t trained_with =
    walk::BoundModel<
        Network, programs::TrainingFacts<programs::Unsharded, programs::alignment_of_parameters<Configuration>, 1,
                                         typename Configuration::precision, Checkpoint<None>, Frozen,
                                         typename Configuration::optimizer, programs::fusing_of<Configuration>>>::layout
        .trained;

template <class Network, class Configuration, class Frozen>
struct training_rules;
template <class Network, class Configuration, class... Layers>
struct training_rules<Network, Configuration, Freeze<Layers...>>
    : RuleList<frozen_layer_has_weights<Layers, (trained_with<Network, Configuration, Freeze<Layers>> <
                                                 trained_with<Network, Configuration, Freeze<>>)>...,
               something_trains<Network, programs::Recipe<Network, Configuration>::Bound::layout.trained>> {};

// ---- groups of parameters

template <class UpdateRule, class Bound>
struct group_rules : RuleList<> {};
template <class... Groups, class Bound>
struct group_rules<Split<Groups...>, Bound> {
  template <std::size_t... group>
  static auto of(std::index_sequence<group...>) -> mp::mp_list<
      group_takes_a_parameter<Groups, detail::is_rest<Groups> || programs::takes_tensors<Bound, group>()>...>;
  using type = decltype(of(std::index_sequence_for<Groups...>{}));
};

// ---- what can be sharded

/// The place of the first unit with weights of several kinds; 0 if there is none.
template <class Bound>
constexpr std::uint64_t find_uneven_unit() {
  for (const walk::UnitRecord& unit : Bound::units(1))
    if (!unit.is_uniform) return unit.path.digits;
  return 0;
}
template <class Bound>
inline constexpr std::uint64_t uneven_unit = find_uneven_unit<Bound>();

template <class Shard, class Bound>
constexpr auto slice_rules() {
  if constexpr (Shard::stage::level <= 0 || uneven_unit<Bound> == 0) return mp::mp_list<>{};
  else
    return mp::mp_list<shard_cuts_even_units<Shard, typename decltype(owner_at<Bound, uneven_unit<Bound>>())::type>>{};
}

// ---- which layers are units

template <class Shard, class Checkpoint, class Bound>
constexpr auto unit_rules() {
  if constexpr (std::is_void_v<typename Shard::wrap>) return mp::mp_list<>{};
  else {
    using Units = walk::Grouping<typename Shard::wrap, typename Bound::Flat>;
    return broken_of<mp::mp_list<wrap_matches_a_layer<typename Shard::wrap, Units::matches>,
                                 kept_segments_exist<Shard, Checkpoint, !Units::matches || Units::matches_block>>>{};
  }
}

// ---- what is recomputed

template <class Network, class Configuration>
constexpr auto budget_rules() {
  using Checkpoint = typename Configuration::checkpoint;
  if constexpr (!detail::has_budget<Checkpoint>) return mp::mp_list<>{};
  else
    return broken_of<mp::mp_list<
        budget_reaches_least<detail::budget_of<Checkpoint>, programs::Recipe<Network, Configuration>::Choice::peak>>>{};
}
template <class Network, class Configuration>
using cost_rules_t =
    broken_of<typename cost_rules<typename Configuration::checkpoint, walk::layers_of<Network>,
                                  programs::LayerCosts<programs::Recipe, Network, Configuration>>::type>;

// ---- what is moved to the host's memory

template <class Network, class Configuration>
constexpr auto offload_rules() {
  if constexpr (!Configuration::checkpoint::offloads) return mp::mp_list<>{};
  else
    return broken_of<mp::mp_list<offload_moves_blocks<
        typename Configuration::checkpoint, (programs::Recipe<Network, Configuration>::step_walked.host > 0)>>>{};
}

// ---- all of them

/// What trains, in groups and units, and how units are cut.
template <class Network, class Configuration>
constexpr auto rules_of_units() {
  using Bound = typename programs::Recipe<Network, Configuration>::Bound;
  using Training = broken_of<typename training_rules<Network, Configuration, typename Configuration::freeze>::type>;
  using Grouped = broken_of<typename group_rules<typename Configuration::optimizer::rule, Bound>::type>;
  using Units = decltype(unit_rules<typename Configuration::shard, typename Configuration::checkpoint, Bound>());
  if constexpr (!mp::mp_empty<Training>::value) return Training{};
  else if constexpr (!mp::mp_empty<Grouped>::value) return Grouped{};
  else if constexpr (!mp::mp_empty<Units>::value) return Units{};
  else return slice_rules<typename Configuration::shard, Bound>();
}
/// A budget is searched by plans, which need units that can be cut: what comes before the search is asked without it.
template <class Configuration>
struct before_search {
  using type = Configuration;
};
template <class Configuration>
  requires(detail::has_budget<typename Configuration::checkpoint>)
struct before_search<Configuration> : programs::with_checkpoint<Configuration, Checkpoint<None>> {};

template <class Network, class Configuration, bool trains>
constexpr auto rules_of_bound_model() {
  using Plain = typename before_search<Configuration>::type;
  using Bound = typename std::conditional_t<trains, programs::Recipe<Network, Plain>,
                                            programs::InferenceRecipe<Network, Configuration>>::Bound;
  using Sets = typename set_rules<Bound>::type;
  if constexpr (!mp::mp_empty<Sets>::value) {
    return Sets{};
  } else if constexpr (!trains) {
    return machine_rules<Network, programs::InferenceRecipe<Network, Configuration>, Configuration>();
  } else if constexpr (detail::has_budget<typename Configuration::checkpoint> &&
                       !mp::mp_empty<decltype(rules_of_units<Network, Plain>())>::value) {
    return rules_of_units<Network, Plain>();
  } else if constexpr (!mp::mp_empty<decltype(budget_rules<Network, Configuration>())>::value) {
    return budget_rules<Network, Configuration>();
  } else if constexpr (!mp::mp_empty<cost_rules_t<Network, Configuration>>::value) {
    return cost_rules_t<Network, Configuration>{};
  } else {
    using Units = decltype(rules_of_units<Network, Configuration>());
    if constexpr (!mp::mp_empty<Units>::value) return Units{};
    else if constexpr (!mp::mp_empty<decltype(offload_rules<Network, Configuration>())>::value)
      return offload_rules<Network, Configuration>();
    else return machine_rules<Network, programs::Recipe<Network, Configuration>, Configuration>();
  }
}

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
