// regimen/verdict/model_rules.hpp — the rules about a model and its policies: shapes, names of layers, memory.
#pragma once

#include <regimen/layer/norm.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>
#include <regimen/program/recipe.hpp>
#include <regimen/rule/as_fits_precision.hpp>
#include <regimen/rule/as_fp16_needs_loss_scale.hpp>
#include <regimen/rule/budget_reaches_least.hpp>
#include <regimen/rule/bundle_holds_kinds.hpp>
#include <regimen/rule/bytes_can_be_counted.hpp>
#include <regimen/rule/coupled_samples_stay_together.hpp>
#include <regimen/rule/coupling_is_declared.hpp>
#include <regimen/rule/cudnn_computes_in_half.hpp>
#include <regimen/rule/cudnn_takes_heads.hpp>
#include <regimen/rule/every_at_most_depth.hpp>
#include <regimen/rule/final_output_at_least_fp32.hpp>
#include <regimen/rule/fits_target.hpp>
#include <regimen/rule/form_adds_distances.hpp>
#include <regimen/rule/form_attends_across.hpp>
#include <regimen/rule/form_shares_keys.hpp>
#include <regimen/rule/form_slides.hpp>
#include <regimen/rule/freeze_names_a_layer.hpp>
#include <regimen/rule/frozen_layer_has_weights.hpp>
#include <regimen/rule/group_takes_a_parameter.hpp>
#include <regimen/rule/if_chooses_a_layer.hpp>
#include <regimen/rule/input_takes_kind.hpp>
#include <regimen/rule/kept_blocks_below_depth.hpp>
#include <regimen/rule/levels_at_most_7.hpp>
#include <regimen/rule/list_holds_layers.hpp>
#include <regimen/rule/loss_accepts_output.hpp>
#include <regimen/rule/loss_is_whole.hpp>
#include <regimen/rule/losses_match_outputs.hpp>
#include <regimen/rule/model_begins_with_input.hpp>
#include <regimen/rule/operation_has_kernel.hpp>
#include <regimen/rule/outputs_come_last.hpp>
#include <regimen/rule/pieces_of_a_batch_are_meant.hpp>
#include <regimen/rule/recomputed_layer_is_replayable.hpp>
#include <regimen/rule/rows_are_aligned.hpp>
#include <regimen/rule/selected_output_is_not_read.hpp>
#include <regimen/rule/selective_names_a_layer.hpp>
#include <regimen/rule/shard_cuts_even_units.hpp>
#include <regimen/rule/shared_keeps_parameters.hpp>
#include <regimen/rule/shared_layers_agree.hpp>
#include <regimen/rule/shared_places_share_a_type.hpp>
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

/// The rules of sets that Shared names.
template <class Compute, class Layers>
struct shared_rules {
 private:
  using Sets = walk::shared_sets<Layers>;
  template <class Set>
  struct of {
    template <class Other>
    using has_my_name = mp::mp_bool<std::is_same_v<mp::mp_first<Set>, mp::mp_first<Other>>>;
    using First = mp::mp_front<mp::mp_copy_if<Sets, has_my_name>>;
    using agrees = rule::shared_layers_agree<mp::mp_first<Set>, First, Set>;
    using types = rule::shared_places_share_a_type<
        mp::mp_first<Set>, (mp::mp_size<typename walk::tied_types<Set, Compute, Layers>::type>::value <= 1)>;
  };
  template <class Set>
  using agrees = typename of<Set>::agrees;
  template <class Set>
  using types = typename of<Set>::types;

 public:
  using type = mp::mp_append<mp::mp_transform<agrees, Sets>, mp::mp_transform<types, Sets>>;
};
/// The parameters of a set are the same in all places.
template <class Bound>
struct set_rules {
  template <class Set>
  using keeps = rule::shared_keeps_parameters<mp::mp_first<Set>,
                                              walk::have_same_parameters<typename Bound::template PlacesOf<Set>>>;
  using type = broken_of<mp::mp_transform<keeps, mp::mp_copy_if<typename Bound::Tied, walk::is_set>>>;
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
      rule::pieces_of_a_batch_are_meant<Layer, regimen::detail::means_pieces<Layer, typename Configuration::accumulate>,
                                        typename Configuration::accumulate, typename Configuration::communicator,
                                        typename Configuration::world>,
      rule::coupled_samples_stay_together<Layer, regimen::detail::couples_samples<Layer>,
                                          typename Configuration::accumulate, typename Configuration::communicator,
                                          typename Configuration::world>>;
  template <class Layers>
  using of = mp::mp_append<mp::mp_transform<rule::coupling_is_declared, Layers>, mp::mp_transform<together, Layers>>;
};

/// Whether a loss reads this output, one.
template <class Loss, class Output>
constexpr bool accepts_output() {
  if constexpr (regimen::detail::is_joined<typename Output::Shape>) return false;
  else if constexpr (requires { Loss::template accepts<Output>; }) return Loss::template accepts<Output>;
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

/// The rules about the last layer: its output is at least fp32, and what the loss reads.
template <class Layer>
struct last_layer_rules {
  using type = mp::mp_list<rule::final_output_at_least_fp32<typename explicit_element<Layer>::type>>;
};
template <class... Branches>
struct last_layer_rules<Fork<Outputs, Branches...>> {
  using type = mp::mp_append<typename last_layer_rules<Branches>::type...>;
};
template <class Loss, class Output, class Found>
struct loss_and_output_rules {
  using type = mp::mp_list<rule::loss_accepts_output<Loss, Output, accepts_output<Loss, Found>()>,
                           rule::loss_is_whole<Loss, Output, WholeLoss<Loss, Output>>>;
};
template <class Loss, class Output, class Found>
  requires(regimen::detail::is_joined<typename Output::Shape>)
struct loss_and_output_rules<Loss, Output, Found> {
  using type = mp::mp_list<rule::losses_match_outputs<Loss, Output>>;
};
template <class... Losses, class Output, class Found>
struct loss_and_output_rules<SumOf<Losses...>, Output, Found> {
  using type = mp::mp_list<rule::losses_match_outputs<SumOf<Losses...>, Output>>;
};
template <class... Losses, class T, class... Shapes, class Found>
  requires(sizeof...(Losses) == sizeof...(Shapes))
struct loss_and_output_rules<SumOf<Losses...>, Value<T, JoinedShapes<Shapes...>>, Found> {
  using type =
      mp::mp_append<typename loss_and_output_rules<typename regimen::detail::weighed<Losses>::Function,
                                                   Value<T, Shapes>, Value<typename Found::Element, Shapes>>::type...>;
};

/// Whether a layer is, or ends with, a Fork<Outputs, ...>.
template <class Layer>
inline constexpr bool has_outputs = false;
template <class... Branches>
inline constexpr bool has_outputs<Fork<Outputs, Branches...>> = true;
template <class Layer>
inline constexpr bool ends_with_outputs = has_outputs<Layer>;
template <class First, class... Others>
inline constexpr bool ends_with_outputs<Sequential<First, Others...>> =
    ends_with_outputs<mp::mp_back<mp::mp_list<First, Others...>>>;
template <class Layers>
constexpr bool outputs_come_last() {
  std::size_t count = 0;
  mp::mp_for_each<mp::mp_transform<mp::mp_identity, typename detail::all_in<Layers>::type>>(
      [&]<class Layer>(mp::mp_identity<Layer>) { count += has_outputs<Layer> ? 1 : 0; });
  if constexpr (mp::mp_empty<Layers>::value) return true;
  else return count == (ends_with_outputs<mp::mp_back<Layers>> ? 1 : 0);
}

// ---- inputs of several values

/// A Bundle of anything but one kind or more; and the elements of its values.
template <class Kind>
struct kind_rules {
  using type = mp::mp_list<>;
};
template <class... Kinds>
struct kind_rules<Bundle<Kinds...>> {
  template <class Kind>
  static constexpr bool is_bundle = regimen::detail::is_bundle<typename Kind::template value<fp32>::Element>;
  using type =
      mp::mp_list<rule::bundle_holds_kinds<Bundle<Kinds...>, (sizeof...(Kinds) > 0 && !(is_bundle<Kinds> || ...))>>;
};
template <class Kind, class X>
struct input_extents {
  using type = rule::extents_at_least_one<Input<Kind>, X::size>;
  static constexpr double elements = elements_in<typename X::Shape>;
};
template <class Kind, class... Values>
struct input_extents<Kind, Value<Bundled<Values...>, Shape<1>>> {
  using type = rule::extents_at_least_one<Input<Kind>, Values::size...>;
  static constexpr double elements = (0.0 + ... + elements_in<typename Values::Shape>);
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

template <class UpdateRule>
using computes_on_spans =
    std::bool_constant<regimen::detail::sees_whole_tensors<UpdateRule> && !UpdatesByOperations<UpdateRule>>;

/// The owner of an operation that the device lacks: a layer, or the update rule.
template <class Recipe, class Configuration>
constexpr auto operation_rules() {
  using Device = typename Configuration::device;
  using Attention = typename Configuration::attention;
  if constexpr (!Recipe::Planned::Engine::Traits::is_checked) return mp::mp_list<>{};
  else if constexpr (!Recipe::lacking.any) return mp::mp_list<>{};
  else if constexpr (requires { typename Recipe::UpdateRule; } && Recipe::lacking.phase == op::Phase::update) {
    using OnSpans = mp::mp_copy_if<typename GroupsOf<typename Recipe::UpdateRule>::Rules, computes_on_spans>;
    if constexpr (mp::mp_empty<OnSpans>::value)
      return mp::mp_list<rule::operation_has_kernel<typename Recipe::UpdateRule, Device, false>>{};
    else return mp::mp_list<rule::spans_stay_on_the_host<mp::mp_front<OnSpans>, Device, false>>{};
  } else {
    using Owner = typename decltype(owner_at<typename Recipe::Bound, Recipe::lacking.path.digits>())::type;
    constexpr unsigned part = Recipe::lacking.refused_part;
    if constexpr (part == 0) return mp::mp_list<rule::operation_has_kernel<Owner, Device, false>>{};
    else if constexpr (part == 1) return mp::mp_list<rule::cudnn_computes_in_half<Owner, Attention, false>>{};
    else if constexpr (part == 2) return mp::mp_list<rule::cudnn_takes_heads<Owner, Attention, false>>{};
    else if constexpr (part == 3) return mp::mp_list<rule::form_shares_keys<Owner, Attention, false>>{};
    else if constexpr (part == 4) return mp::mp_list<rule::form_attends_across<Owner, Attention, false>>{};
    else if constexpr (part == 5) return mp::mp_list<rule::form_slides<Owner, Attention, false>>{};
    else return mp::mp_list<rule::form_adds_distances<Owner, Attention, false>>{};
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

// ---- groups of parameters

template <std::size_t group>
struct CountsGroup {
  std::size_t tensors = 0;
  template <class Unit>
  constexpr void operator()(walk::UnitOffsets, std::size_t, Path) {
    for (const walk::TensorPlace& tensor : Unit::tensors) tensors += tensor.trains && tensor.group == group ? 1 : 0;
  }
};
template <class Bound, std::size_t group>
constexpr bool takes_tensors() {
  CountsGroup<group> counts;
  Bound::for_each_unit(1, counts);
  return counts.tensors > 0;
}
template <class UpdateRule, class Bound>
struct group_rules {
  using type = mp::mp_list<>;
};
template <class... Groups, class Bound>
struct group_rules<Split<Groups...>, Bound> {
  template <std::size_t... group>
  static auto of(std::index_sequence<group...>) -> mp::mp_list<
      rule::group_takes_a_parameter<Groups, regimen::detail::is_rest<Groups> || takes_tensors<Bound, group>()>...>;
  using type = decltype(of(std::index_sequence_for<Groups...>{}));
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

// ---- what is recomputed

template <class Network, class Configuration>
struct budget_rule_of {
  using type = rule::budget_reaches_least<0, 0>;
};
template <class Network, class Configuration>
  requires(regimen::detail::has_budget<typename Configuration::checkpoint>)
struct budget_rule_of<Network, Configuration> {
  using type = rule::budget_reaches_least<regimen::detail::budget_of<typename Configuration::checkpoint>,
                                          Recipe<Network, Configuration>::Choice::peak>;
};
template <class Network, class Configuration>
using budget_rule = typename budget_rule_of<Network, Configuration>::type;

template <class Network, class Configuration, bool trains>
constexpr auto rules_of_bound_model() {
  using Bound = typename std::conditional_t<trains, Recipe<Network, Configuration>,
                                            InferenceRecipe<Network, Configuration>>::Bound;
  using Sets = typename set_rules<Bound>::type;
  if constexpr (!mp::mp_empty<Sets>::value) {
    return Sets{};
  } else if constexpr (!trains) {
    return machine_rules<InferenceRecipe<Network, Configuration>, Configuration>();
  } else if constexpr (!budget_rule<Network, Configuration>::holds) {
    return mp::mp_list<budget_rule<Network, Configuration>>{};
  } else {
    using Training = typename training_rules<Network, Configuration, typename Configuration::freeze>::type;
    using Units = decltype(unit_rules<typename Configuration::shard, typename Configuration::checkpoint,
                                      typename Recipe<Network, Configuration>::Bound>());
    using Slices =
        decltype(slice_rules<typename Configuration::shard, typename Recipe<Network, Configuration>::Bound>());
    using Grouped = typename group_rules<typename Configuration::optimizer::rule,
                                         typename Recipe<Network, Configuration>::Bound>::type;
    if constexpr (!mp::mp_empty<broken_of<Training>>::value) return broken_of<Training>{};
    else if constexpr (!mp::mp_empty<broken_of<Grouped>>::value) return broken_of<Grouped>{};
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
    constexpr double of_a_sample = input_extents<typename P::InputKind, X>::elements;
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
      typename shared_rules<typename Roles::computed, typename P::Layers>::type,
      mp::mp_list<rule::outputs_come_last<Network, outputs_come_last<typename P::Layers>()>,
                  rule::every_at_most_depth<typename Configuration::checkpoint, repeat_depth<typename P::Layers>>,
                  rule::kept_blocks_below_depth<typename Configuration::checkpoint, repeat_depth<typename P::Layers>>>>;
  using Coupling = typename coupling_rules<Configuration>::template of<mp::mp_unique<All>>;
  using Shapes = typename shapes_of<Network, Configuration>::Checked;
  using Extents = mp::mp_list<typename input_extents<typename P::InputKind, X>::type,
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
        mp::mp_append<typename last_layer_rules<mp::mp_back<typename P::Layers>>::type,
                      typename std::conditional_t<trains, loss_and_output_rules<Loss, Output, typename Shapes::Output>,
                                                  mp::mp_identity<mp::mp_list<>>>::type>;
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
  } else if constexpr (!mp::mp_empty<
                           broken_of<typename kind_rules<typename parts_t<Network>::InputKind>::type>>::value) {
    return broken_of<typename kind_rules<typename parts_t<Network>::InputKind>::type>{};
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
