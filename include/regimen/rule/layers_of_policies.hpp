// regimen/rule/layers_of_policies.hpp — the rules about layers that policies and other layers name.
#pragma once

#include <regimen/programs/recipe.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/shape_rules.hpp>
#include <regimen/rule/weights.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

template <class All>
struct names_of {
  template <class Layer>
  using selected = selective_names_a_layer<Layer, mp::mp_contains<All, Layer>::value>;
  template <class Layer>
  using frozen = freeze_names_a_layer<Layer, mp::mp_contains<All, Layer>::value>;
  template <class Table>
  using tied = tied_layer_exists<Table, mp::mp_contains<All, Table>::value>;
};

template <class Compute, class Layers>
struct shared_types {
  template <class Table>
  using one = tied_layers_share_a_type<Table, walk::have_one_compute<Table, Compute, Layers>>;
  template <class Table>
  using together = tied_layers_train_together<Table, walk::train_together<Table, Compute, Layers>>;
};

/// The rules of sets that Shared names.
template <class Compute, class Layers>
struct shared_rules {
 private:
  using Sets = walk::shared_sets<Layers>;
  template <class Set>
  using first = mp::mp_at<Sets, mp::mp_find<mp::mp_transform<mp::mp_first, Sets>, mp::mp_first<Set>>>;
  template <class Set>
  using agrees = shared_layers_agree<mp::mp_first<Set>, first<Set>, Set>;
  template <class Set>
  using types = shared_places_share_a_type<mp::mp_first<Set>, walk::have_one_compute<Set, Compute, Layers>>;
  template <class Set>
  using together = shared_places_train_together<mp::mp_first<Set>, walk::train_together<Set, Compute, Layers>>;

 public:
  using type =
      mp::mp_append<mp::mp_transform<agrees, Sets>, mp::mp_transform<types, Sets>, mp::mp_transform<together, Sets>>;
};
/// The parameters of a set are the same in all places.
template <class Bound>
struct set_rules {
  template <class Set>
  using keeps =
      shared_keeps_parameters<mp::mp_first<Set>, walk::have_same_parameters<typename Bound::template PlacesOf<Set>>>;
  using type = broken_of<mp::mp_transform<keeps, mp::mp_copy_if<typename Bound::Tied, walk::is_set>>>;
};

/// All: the layers that a model is made of; Layers: its list, as it is written.
template <class Schedule, class All, class Layers>
struct schedule_rules : RuleList<> {};
template <std::size_t N, class All, class Layers>
struct schedule_rules<Every<N>, All, Layers> {
  using type = mp::mp_transform<recomputed_layer_is_replayable, mp::mp_unique<All>>;
};
template <class... Layers, class All, class Of>
struct schedule_rules<Selective<Layers...>, All, Of>
    : RuleList<typename names_of<All>::template selected<Layers>..., recomputed_layer_is_replayable<Layers>...,
               selected_output_is_not_read<Layers>...> {};

/// What a predicate chooses by cost is known once the model is bound: cost_rules.
template <template <class> class Predicate, class All, class Layers>
struct schedule_rules<If<Predicate>, All, Layers> {
  using Named = programs::named_schedule<If<Predicate>, Layers, programs::UnknownCosts>;
  static constexpr bool chooses = Named::asks_cost || !std::is_same_v<typename Named::type, Selective<>>;
  using InBlocks = mp::mp_unique<detail::layers_in<typename Named::ChosenBlocks>>;
  using type = mp::mp_append<
      mp::mp_list<if_chooses_a_layer<If<Predicate>, chooses, false, !chooses && Named::chooses_any_whole>>,
      typename schedule_rules<mp::mp_apply<Selective, typename Named::ChosenLayers>, All, Layers>::type,
      mp::mp_transform<recomputed_layer_is_replayable, InBlocks>>;
};
template <class... Schedules, class All, class Layers>
struct schedule_rules<Checkpoint<Schedules...>, All, Layers> {
  using type = mp::mp_append<mp::mp_list<>, typename schedule_rules<Schedules, All, Layers>::type...>;
};
template <std::size_t K, class... Schedules, class All, class Layers>
struct schedule_rules<KeepLast<K, Schedules...>, All, Layers> : schedule_rules<Checkpoint<Schedules...>, All, Layers> {
};

/// The rules of a schedule whose predicate asks what layers cost.
template <class Schedule, class All, class Costs>
struct cost_rules : RuleList<> {};
template <template <class> class Predicate, class All, class Costs>
  requires(programs::named_schedule<If<Predicate>, All, programs::UnknownCosts>::asks_cost)
struct cost_rules<If<Predicate>, All, Costs> {
  static constexpr bool chooses =
      !std::is_same_v<typename programs::named_schedule<If<Predicate>, All, Costs>::type, Selective<>>;
  using type = mp::mp_list<if_chooses_a_layer<If<Predicate>, chooses, true>>;
};
template <class... Schedules, class All, class Costs>
struct cost_rules<Checkpoint<Schedules...>, All, Costs> {
  using type = mp::mp_append<mp::mp_list<>, typename cost_rules<Schedules, All, Costs>::type...>;
};
template <std::size_t K, class... Schedules, class All, class Costs>
struct cost_rules<KeepLast<K, Schedules...>, All, Costs> : cost_rules<Checkpoint<Schedules...>, All, Costs> {};

template <class Configuration>
struct as_rules {
  template <class T>
  using fits = as_fits_precision<T, typename Configuration::precision>;
  template <class T>
  using scaled = as_fp16_needs_loss_scale<T, typename Configuration::loss_scale>;
  template <class T>
  using computed = device_computes_in<typename Configuration::device, T>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
