// regimen/verdict/model_rules.hpp — the rules about a model and its policies: shapes, names of layers, memory.
#pragma once

#include <regimen/layer/norm.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/program/recipe.hpp>
#include <regimen/rule/as_fits_precision.hpp>
#include <regimen/rule/as_fp16_needs_loss_scale.hpp>
#include <regimen/rule/bytes_can_be_counted.hpp>
#include <regimen/rule/coupled_samples_stay_together.hpp>
#include <regimen/rule/coupling_is_declared.hpp>
#include <regimen/rule/cudnn_computes_in_half.hpp>
#include <regimen/rule/cudnn_takes_heads.hpp>
#include <regimen/rule/every_at_most_depth.hpp>
#include <regimen/rule/final_output_at_least_fp32.hpp>
#include <regimen/rule/fits_target.hpp>
#include <regimen/rule/form_attends_across.hpp>
#include <regimen/rule/form_shares_keys.hpp>
#include <regimen/rule/form_slides.hpp>
#include <regimen/rule/freeze_names_a_layer.hpp>
#include <regimen/rule/frozen_layer_has_weights.hpp>
#include <regimen/rule/if_chooses_a_layer.hpp>
#include <regimen/rule/input_takes_kind.hpp>
#include <regimen/rule/levels_at_most_7.hpp>
#include <regimen/rule/list_holds_layers.hpp>
#include <regimen/rule/loss_accepts_output.hpp>
#include <regimen/rule/loss_is_whole.hpp>
#include <regimen/rule/model_begins_with_input.hpp>
#include <regimen/rule/operation_has_kernel.hpp>
#include <regimen/rule/pieces_of_a_batch_are_meant.hpp>
#include <regimen/rule/recomputed_layer_is_replayable.hpp>
#include <regimen/rule/rows_are_aligned.hpp>
#include <regimen/rule/selected_output_is_not_read.hpp>
#include <regimen/rule/selective_names_a_layer.hpp>
#include <regimen/rule/shard_cuts_even_units.hpp>
#include <regimen/rule/something_trains.hpp>
#include <regimen/rule/spans_stay_on_the_host.hpp>
#include <regimen/rule/tied_layer_exists.hpp>
#include <regimen/rule/tied_layers_share_a_type.hpp>
#include <regimen/rule/wrap_matches_a_layer.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/named_rules.hpp>
#include <regimen/verdict/owners.hpp>
#include <regimen/verdict/shape_rules.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen {

namespace train {

// ---- names in policies

template <class All>
struct names_of {
  template <class Layer>
  using selected = rule::selective_names_a_layer<Layer, mp::mp_contains<All, Layer>::value>;
  template <class Layer>
  using frozen = rule::freeze_names_a_layer<Layer, mp::mp_contains<All, Layer>::value>;
  template <class Table>
  using tied = rule::tied_layer_exists<Table, mp::mp_contains<All, Table>::value, (vocabulary<Table>::size > 0)>;
};

template <class Compute, class Layers>
struct shared_types {
  template <class Table>
  using one =
      rule::tied_layers_share_a_type<Table,
                                     mp::mp_size<typename walk::tied_types<Table, Compute, Layers>::type>::value <= 1>;
};

template <class Layer>
constexpr bool is_replayable() {
  if constexpr (requires { Layer::replayable; }) return Layer::replayable;
  else return true;
}

template <class Layer>
constexpr bool reads_own_output() {
  if constexpr (requires { Layer::reads_own_output; }) return Layer::reads_own_output;
  else return false;
}

template <class Schedule, class All>
struct schedule_rules {
  using type = mp::mp_list<>;
};
template <std::size_t N, class All>
struct schedule_rules<Every<N>, All> {
  template <class Layer>
  using replays = rule::recomputed_layer_is_replayable<Layer, is_replayable<Layer>()>;
  using type = mp::mp_transform<replays, mp::mp_unique<All>>;
};
template <class... Layers, class All>
struct schedule_rules<Selective<Layers...>, All> {
  using type = mp::mp_list<typename names_of<All>::template selected<Layers>...,
                           rule::recomputed_layer_is_replayable<Layers, is_replayable<Layers>()>...,
                           rule::selected_output_is_not_read<Layers, reads_own_output<Layers>()>...>;
};

template <template <class> class Predicate, class All>
struct schedule_rules<If<Predicate>, All> {
  using Chosen = typename named_schedule<If<Predicate>, All>::type;
  using type = mp::mp_push_front<typename schedule_rules<Chosen, All>::type,
                                 rule::if_chooses_a_layer<If<Predicate>, !std::is_same_v<Chosen, Selective<>>>>;
};
template <class All>
struct schedules_rules {
  template <class... Schedules>
  using of = mp::mp_append<mp::mp_list<>, typename schedule_rules<Schedules, All>::type...>;
};

template <class Freeze, class All>
struct freeze_rules;
template <class... Layers, class All>
struct freeze_rules<Freeze<Layers...>, All> {
  using type = mp::mp_list<typename names_of<All>::template frozen<Layers>...>;
};

template <class Configuration>
struct as_rules {
  template <class T>
  using fits = rule::as_fits_precision<T, typename Configuration::precision>;
  template <class T>
  using scaled = rule::as_fp16_needs_loss_scale<T, typename Configuration::loss_scale>;
  template <class T>
  using computed = regimen::detail::computed_on<typename Configuration::device, T>;
};

// ---- layers that couple the samples of a batch

template <class Configuration>
struct coupling_rules {
  template <class Layer>
  using together = std::conditional_t<
      requires { Layer::takes_pieces; },
      rule::pieces_of_a_batch_are_meant<Layer, regimen::detail::takes_pieces<Layer>, typename Configuration::accumulate,
                                        typename Configuration::communicator, typename Configuration::world>,
      rule::coupled_samples_stay_together<Layer, regimen::detail::couples_samples<Layer>,
                                          typename Configuration::accumulate, typename Configuration::communicator,
                                          typename Configuration::world>>;
  template <class Layers>
  using of = mp::mp_append<mp::mp_transform<rule::coupling_is_declared, Layers>, mp::mp_transform<together, Layers>>;
};

template <class Loss, class Output>
constexpr bool accepts_output() {
  if constexpr (requires { Loss::template accepts<Output>; }) return Loss::template accepts<Output>;
  else return Number<typename Output::Element>;
}

/// The members of a loss that a step uses.
template <class Loss, class Output>
concept WholeLoss =
    requires(walk::Walk<plan::Engine<plan::AnyTraits>>& engine, std::size_t at, View<Scalars> scalars, double scale) {
      { Loss::template rows<Output> } -> std::convertible_to<std::size_t>;
      Loss::template run<true, Output>(engine, at, at, scalars, scale);
      Loss::template run<false, Output>(engine, at, at, scalars, scale);
    };

// ---- memory

template <class Recipe>
constexpr auto memory_rules() {
  if constexpr (Recipe::Target::memory == targets::unlimited::memory) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.peak <= Recipe::Target::memory) return mp::mp_list<>{};
  else
    return mp::mp_list<rule::fits_target<Recipe::plan.peak, Recipe::Target::memory, owner_of_line<Recipe, 0>,
                                         owner_of_line<Recipe, 1>, owner_of_line<Recipe, 2>>>{};
}

// ---- operations

/// The owner of an operation that the device lacks: a layer, or the update rule.
template <class Recipe, class Configuration>
constexpr auto operation_rules() {
  using Device = typename Configuration::device;
  using Attention = typename Configuration::attention;
  if constexpr (!Recipe::Planned::Engine::Traits::is_checked) return mp::mp_list<>{};
  else if constexpr (!Recipe::lacking.any) return mp::mp_list<>{};
  else if constexpr (requires { typename Recipe::UpdateRule; } && Recipe::lacking.phase == op::Phase::update)
    return mp::mp_list<std::conditional_t<regimen::detail::sees_whole_tensors<typename Recipe::UpdateRule> &&
                                              !UpdatesByOperations<typename Recipe::UpdateRule>,
                                          rule::spans_stay_on_the_host<typename Recipe::UpdateRule, Device, false>,
                                          rule::operation_has_kernel<typename Recipe::UpdateRule, Device, false>>>{};
  else {
    using Owner = typename decltype(owner_at<typename Recipe::Bound, Recipe::lacking.path.digits>())::type;
    constexpr unsigned part = Recipe::lacking.refused_part;
    if constexpr (part == 0) return mp::mp_list<rule::operation_has_kernel<Owner, Device, false>>{};
    else if constexpr (part == 1) return mp::mp_list<rule::cudnn_computes_in_half<Owner, Attention, false>>{};
    else if constexpr (part == 2) return mp::mp_list<rule::cudnn_takes_heads<Owner, Attention, false>>{};
    else if constexpr (part == 3) return mp::mp_list<rule::form_shares_keys<Owner, Attention, false>>{};
    else if constexpr (part == 4) return mp::mp_list<rule::form_attends_across<Owner, Attention, false>>{};
    else return mp::mp_list<rule::form_slides<Owner, Attention, false>>{};
  }
}
/// The first layer whose rows are not aligned, if there is more of them than Target allows.
template <class Recipe, class Target>
constexpr auto row_rules() {
  if constexpr (!Target::bounds_rows) return mp::mp_list<>{};
  else if constexpr (Recipe::plan.unaligned_share() <= Target::unaligned) return mp::mp_list<>{};
  else
    return mp::mp_list<rule::rows_are_aligned<
        typename decltype(owner_at<typename Recipe::Bound, Recipe::plan.unaligned[0].path.digits>())::type,
        Recipe::plan.unaligned[0].columns, Recipe::plan.unaligned[0].element, false>>{};
}
template <class Recipe, class Configuration>
constexpr auto machine_rules() {
  using Operations = decltype(operation_rules<Recipe, Configuration>());
  using Rows = decltype(row_rules<Recipe, typename Configuration::target>());
  if constexpr (!mp::mp_empty<Operations>::value) return Operations{};
  else if constexpr (!mp::mp_empty<Rows>::value) return Rows{};
  else return memory_rules<Recipe>();
}

// ---- what trains

template <class Network, class Configuration, class Frozen>
inline constexpr std::size_t trained_with =
    walk::BoundModel<Network, TrainingFacts<Unsharded, alignment_of_parameters<Configuration>, 1,
                                            typename Configuration::precision, Checkpoint<None>, Frozen,
                                            typename Configuration::optimizer, fusing_of<Configuration>>>::layout
        .trained;

template <class Network, class Configuration, class Frozen>
struct training_rules;
template <class Network, class Configuration, class... Layers>
struct training_rules<Network, Configuration, Freeze<Layers...>> {
  using type =
      mp::mp_list<rule::frozen_layer_has_weights<Layers, (trained_with<Network, Configuration, Freeze<Layers>> <
                                                          trained_with<Network, Configuration, Freeze<>>)>...,
                  rule::something_trains<Network, Recipe<Network, Configuration>::Bound::layout.trained>>;
};

// ---- what can be sharded

/// The place of the first unit with weights of several kinds; 0 if there is none.
struct FirstUneven {  // a named class: nvcc 13.0 ends with an internal error at a generic lambda here
  std::uint64_t digits = 0;
  template <class Unit>
  constexpr void operator()(walk::UnitOffsets, std::size_t, Path path) {
    digits = digits == 0 && !Unit::is_uniform ? path.digits : digits;
  }
};
template <class Bound>
constexpr std::uint64_t find_uneven_unit() {
  FirstUneven found;
  Bound::for_each_unit(1, found);
  return found.digits;
}
template <class Bound>
inline constexpr std::uint64_t uneven_unit = find_uneven_unit<Bound>();

template <class Shard, class Bound>
constexpr auto slice_rules() {
  if constexpr (Shard::stage::level <= 0 || uneven_unit<Bound> == 0) return mp::mp_list<>{};
  else
    return mp::mp_list<
        rule::shard_cuts_even_units<Shard, typename decltype(owner_at<Bound, uneven_unit<Bound>>())::type, false>>{};
}

// ---- which layers are units

template <class Shard, class Checkpoint, class Bound>
constexpr auto unit_rules() {
  if constexpr (std::is_void_v<typename Shard::wrap>) return mp::mp_list<>{};
  else {
    using Units = walk::Grouping<typename Shard::wrap, typename Bound::Flat>;
    return broken_of<
        mp::mp_list<rule::wrap_matches_a_layer<typename Shard::wrap, Units::matches>,
                    rule::kept_segments_exist<Shard, Checkpoint, !Units::matches || Units::matches_block>>>{};
  }
}

template <class Network, class Configuration, bool trains>
constexpr auto rules_of_bound_model() {
  if constexpr (!trains) {
    return machine_rules<InferenceRecipe<Network, Configuration>, Configuration>();
  } else {
    using Training = typename training_rules<Network, Configuration, typename Configuration::freeze>::type;
    using Units = decltype(unit_rules<typename Configuration::shard, typename Configuration::checkpoint,
                                      typename Recipe<Network, Configuration>::Bound>());
    using Slices =
        decltype(slice_rules<typename Configuration::shard, typename Recipe<Network, Configuration>::Bound>());
    if constexpr (!mp::mp_empty<broken_of<Training>>::value) return broken_of<Training>{};
    else if constexpr (!mp::mp_empty<Units>::value) return Units{};
    else if constexpr (!mp::mp_empty<Slices>::value) return Slices{};
    else return machine_rules<Recipe<Network, Configuration>, Configuration>();
  }
}

/// The tensors between the layers of a model.
template <class Network, class Configuration>
struct shapes_of {
  using P = parts_t<Network>;
  using Precision = typename Configuration::precision;
  using Roles = regimen::Roles<typename Precision::compute, typename Precision::master, typename Precision::reduce>;
  using X = typename P::InputKind::template value<typename Roles::statistic>;
  using Checked = mp::mp_apply<check_chain, mp::mp_push_front<typename P::Layers, X, Roles>>;

  /// Whether the bytes of so many samples do not overflow.
  static constexpr bool can_count(double samples) {
    constexpr double of_a_sample = elements_in<typename X::Shape>;
    return (Checked::elements + of_a_sample) * samples < 0x1p+52 &&
           of_a_sample * samples * double(Configuration::accumulate::count) < 0x1p+60;
  }
};

/// The rules for a model with an input and a list of layers.
template <class Network, class Configuration, bool trains>
constexpr auto rules_of_layers() {
  using P = parts_t<Network>;
  using Roles = typename shapes_of<Network, Configuration>::Roles;
  using X = typename shapes_of<Network, Configuration>::X;
  using All = detail::layers_in<typename P::Layers>;
  using Tables = walk::tied_tables<typename P::Layers>;
  using AsTypes = mp::mp_unique<as_types<typename P::Layers>>;
  using Names = mp::mp_append<
      mp::mp_transform<as_rules<Configuration>::template fits, AsTypes>,
      mp::mp_transform<as_rules<Configuration>::template computed, AsTypes>,
      mp::mp_transform<as_rules<Configuration>::template scaled, mp::mp_if_c<trains, AsTypes, mp::mp_list<>>>,
      mp::mp_apply<schedules_rules<All>::template of, typename Configuration::checkpoint>,
      typename freeze_rules<typename Configuration::freeze, All>::type, typename named_rules<typename P::Layers>::type,
      mp::mp_transform<names_of<All>::template tied, Tables>,
      mp::mp_transform<shared_types<typename Roles::computed, typename P::Layers>::template one, Tables>,
      mp::mp_list<rule::every_at_most_depth<typename Configuration::checkpoint, repeat_depth<typename P::Layers>>>>;
  using Coupling = typename coupling_rules<Configuration>::template of<mp::mp_unique<All>>;
  using Shapes = typename shapes_of<Network, Configuration>::Checked;
  using Extents = mp::mp_list<rule::extents_at_least_one<Input<typename P::InputKind>, X::size>,
                              rule::layers_one_to_255<Network, layer_count<typename P::Layers>>,
                              rule::levels_at_most_7<Network, 1 + level_count<typename P::Layers>>>;
  if constexpr (!mp::mp_empty<broken_of<Extents>>::value) return broken_of<Extents>{};
  else if constexpr (!mp::mp_empty<broken_of<Names>>::value) return broken_of<Names>{};
  else if constexpr (!mp::mp_empty<typename Shapes::broken>::value) return typename Shapes::broken{};
  else if constexpr (!mp::mp_empty<broken_of<Coupling>>::value) return broken_of<Coupling>{};
  else {
    using Output = Value<typename Roles::statistic, typename Shapes::Output::Shape>;
    using Loss = typename Configuration::loss::function;
    using Last =
        mp::mp_list<rule::final_output_at_least_fp32<typename explicit_element<mp::mp_back<typename P::Layers>>::type>,
                    rule::loss_accepts_output<Loss, Output, !trains || accepts_output<Loss, typename Shapes::Output>()>,
                    rule::loss_is_whole<Loss, Output, !trains || WholeLoss<Loss, Output>>>;
    constexpr double samples = Configuration::batch::largest ? 1 : double(Configuration::batch::size);
    using Countable = rule::bytes_can_be_counted<Network, typename Configuration::batch,
                                                 shapes_of<Network, Configuration>::can_count(samples)>;
    if constexpr (!mp::mp_empty<broken_of<Last>>::value) return broken_of<Last>{};
    else if constexpr (!Countable::holds) return mp::mp_list<Countable>{};
    else return rules_of_bound_model<Network, Configuration, trains>();
  }
}

template <class Network, class Configuration, bool trains = true>
constexpr auto rules_of_model() {
  if constexpr (!requires { typename parts_t<Network>; }) {
    return mp::mp_list<rule::model_begins_with_input<Network>>{};
  } else if constexpr (!rule::input_takes_kind<typename parts_t<Network>::InputKind>::holds) {
    return mp::mp_list<rule::input_takes_kind<typename parts_t<Network>::InputKind>>{};
  } else if constexpr (!holds_layers<typename parts_t<Network>::Layers>) {
    return mp::mp_unique<unknown_layers_in<typename parts_t<Network>::Layers>>{};
  } else {
    return rules_of_layers<Network, Configuration, trains>();
  }
}

}  // namespace train

template <class Network, class Configuration>
  requires detail::is_model<Network>
struct model_rules<Network, Configuration> {
  using type = decltype(train::rules_of_model<Network, Configuration>());
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
