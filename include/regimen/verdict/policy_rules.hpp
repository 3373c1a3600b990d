// regimen/verdict/policy_rules.hpp — which rules policies must keep: each by itself, and several together.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/clip.hpp>
#include <regimen/policy/freeze.hpp>
#include <regimen/policy/fusion.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/policy/target.hpp>
#include <regimen/program/groups.hpp>
#include <regimen/rule/accumulate_at_least_one.hpp>
#include <regimen/rule/anomaly_ends_a_launch.hpp>
#include <regimen/rule/argument_is_a_policy.hpp>
#include <regimen/rule/average_keeps_a_share.hpp>
#include <regimen/rule/batch_at_least_one.hpp>
#include <regimen/rule/bucket_reduces_once.hpp>
#include <regimen/rule/budget_needs_batch.hpp>
#include <regimen/rule/checkpoint_is_built.hpp>
#include <regimen/rule/clip_above_zero.hpp>
#include <regimen/rule/communicator_is_built.hpp>
#include <regimen/rule/coupled_samples_stay_together.hpp>
#include <regimen/rule/coupling_is_declared.hpp>
#include <regimen/rule/cudnn_is_found.hpp>
#include <regimen/rule/debug_none_stands_alone.hpp>
#include <regimen/rule/delta_above_zero.hpp>
#include <regimen/rule/device_attends_in_form.hpp>
#include <regimen/rule/device_computes_in.hpp>
#include <regimen/rule/device_is_included.hpp>
#include <regimen/rule/device_takes_ranks.hpp>
#include <regimen/rule/element_type_is_built.hpp>
#include <regimen/rule/epilogue_takes_switch.hpp>
#include <regimen/rule/every_at_least_one.hpp>
#include <regimen/rule/fp16_needs_loss_scale.hpp>
#include <regimen/rule/fp64_masters_need_fp64.hpp>
#include <regimen/rule/fraction_is_a_ratio.hpp>
#include <regimen/rule/global_batch_divides.hpp>
#include <regimen/rule/graph_needs_graphs.hpp>
#include <regimen/rule/groups_divide_world.hpp>
#include <regimen/rule/kept_segments_exist.hpp>
#include <regimen/rule/largest_batch_needs_target.hpp>
#include <regimen/rule/loss_scale_at_least_one.hpp>
#include <regimen/rule/loss_scale_needs_fp16.hpp>
#include <regimen/rule/masked_takes_loss.hpp>
#include <regimen/rule/masters_are_not_half.hpp>
#include <regimen/rule/masters_as_wide_as_compute.hpp>
#include <regimen/rule/nccl_connects_gpus.hpp>
#include <regimen/rule/nccl_is_found.hpp>
#include <regimen/rule/offload_needs_two_memories.hpp>
#include <regimen/rule/one_policy_per_axis.hpp>
#include <regimen/rule/policy_takes_option.hpp>
#include <regimen/rule/product_has_epilogue.hpp>
#include <regimen/rule/reduce_in_compute_or_master.hpp>
#include <regimen/rule/reduces_in_one_way.hpp>
#include <regimen/rule/reduction_needs_communicator.hpp>
#include <regimen/rule/scaled_gradients_reduce_in_fp32.hpp>
#include <regimen/rule/schedules_agree.hpp>
#include <regimen/rule/selective_names_layers.hpp>
#include <regimen/rule/shard_needs_communicator.hpp>
#include <regimen/rule/shard_needs_ranks.hpp>
#include <regimen/rule/shard_options_fit.hpp>
#include <regimen/rule/smoothing_below_one.hpp>
#include <regimen/rule/split_ends_with_rest.hpp>
#include <regimen/rule/steps_at_least_one.hpp>
#include <regimen/rule/summed_stands_outside.hpp>
#include <regimen/rule/synchronous_needs_queue.hpp>
#include <regimen/rule/target_computes_in.hpp>
#include <regimen/rule/target_takes_bound.hpp>
#include <regimen/rule/temperature_above_zero.hpp>
#include <regimen/rule/tf32_is_stored_as_fp32.hpp>
#include <regimen/rule/unaligned_is_counted.hpp>
#include <regimen/rule/update_rule_is_whole.hpp>
#include <regimen/rule/update_rule_states_agree.hpp>
#include <regimen/rule/weight_above_zero.hpp>
#include <regimen/rule/world_is_a_number.hpp>
#include <regimen/rule/world_needs_communicator.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/bind.hpp>
#include <boost/mp11/list.hpp>
#include <boost/mp11/set.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen::detail {

namespace mp = boost::mp11;

// All aliases take a list, never an enclosing pack, because a member alias that names an outer pack is substituted
// eagerly.

/// Every argument is a policy.
template <class Argument>
using argument_rules = mp::mp_list<rule::argument_is_a_policy<Argument>>;

/// At most one policy decides each axis.
template <class Axis>
struct on_axis {
  template <class P>
  using fn = std::is_same<typename P::axis, Axis>;
};
template <class List>
struct claims_in {
  template <class P>
  using fn = mp::mp_apply<mp::mp_bind_front<rule::one_policy_per_axis, typename P::axis>::template fn,
                          mp::mp_copy_if_q<List, on_axis<typename P::axis>>>;
};
template <class List>
using axis_rules = mp::mp_unique<mp::mp_transform_q<claims_in<List>, List>>;

/// Each policy takes options of its own axis.
template <class P>
struct options {
  using rules = mp::mp_list<>;
};
template <template <class...> class P, class... Options>
struct options<P<Options...>> {
  template <class Axis>
  using asked = mp::mp_unique<mp::mp_list<rule::policy_takes_option<Axis, Options>...>>;
  using rules = asked<typename P<Options...>::axis>;
};
template <class Compute, class Master, class Reduce>
struct options<Precision<Compute, Master, Reduce>> {
  template <class... T>
  using asked = mp::mp_append<mp::mp_list<rule::policy_takes_option<axis::precision, T>...>,
                              mp::mp_list<rule::element_type_is_built<T>...>>;
  using rules = mp::mp_apply<asked, mp::mp_unique<mp::mp_list<Compute, Master, Reduce>>>;
};
template <class Fraction>
struct options<Clip<Norm<Fraction>>> {
  using rules = mp::mp_list<rule::fraction_is_a_ratio<Fraction>>;
};
template <class... Layers>
struct options<Freeze<Layers...>> {
  using rules = mp::mp_list<>;
};
template <std::size_t N, class... When>
struct options<Accumulate<N, When...>> {
  using rules = mp::mp_unique<mp::mp_list<rule::policy_takes_option<axis::accumulate, When>...>>;
};
template <class Bound>
struct bound_rules {
  using type = mp::mp_list<rule::target_takes_bound<Bound, false>>;
};
template <class Share>
struct bound_rules<Unaligned<Share>> {
  using type = mp::mp_list<rule::fraction_is_a_ratio<Share>>;
};
template <class T, class... Bounds>
struct options<Target<T, Bounds...>> {
  static constexpr bool in_order = TargetDescription<T> && sizeof...(Bounds) == 1;
  using rules = std::conditional_t<
      sizeof...(Bounds) == 0, mp::mp_list<rule::policy_takes_option<axis::target, T>>,
      std::conditional_t<in_order, mp::mp_append<mp::mp_list<>, typename bound_rules<Bounds>::type...>,
                         mp::mp_list<rule::target_takes_bound<T, false>>>>;
};
template <class Switch>
struct options<Epilogue<Switch>> {
  using rules = mp::mp_list<rule::epilogue_takes_switch<Switch>>;
};
template <class P>
using option_rules = typename options<P>::rules;

/// The rules about a loss by itself; a loss that is not defined yet is checked later.
template <class Loss>
struct loss_rules {
  using rules = mp::mp_list<rule::coupling_is_declared_by_loss<Loss>>;
};
template <class Loss>
  requires is_incomplete<Loss>
struct loss_rules<Loss> {
  using rules = mp::mp_list<>;
};
template <class Loss>
  requires requires { typename Loss::smoothing; }
struct loss_rules<Loss> {
  using rules =
      mp::mp_list<rule::coupling_is_declared_by_loss<Loss>, rule::fraction_is_a_ratio<typename Loss::smoothing>,
                  rule::smoothing_below_one<typename Loss::smoothing>>;
};
template <class Loss>
  requires requires { typename Loss::delta; }
struct loss_rules<Loss> {
  using rules = mp::mp_list<rule::coupling_is_declared_by_loss<Loss>, rule::fraction_is_a_ratio<typename Loss::delta>,
                            rule::delta_above_zero<typename Loss::delta>>;
};
template <class Loss>
  requires requires { typename Loss::temperature; }
struct loss_rules<Loss> {
  using rules =
      mp::mp_list<rule::coupling_is_declared_by_loss<Loss>, rule::fraction_is_a_ratio<typename Loss::temperature>,
                  rule::temperature_above_zero<typename Loss::temperature>>;
};

/// Those of all losses of a sum.
template <class Loss>
struct weighed_rules {
  using type = mp::mp_list<rule::policy_takes_option<axis::loss, Loss>>;
};
template <class Loss>
  requires belongs_to<Loss, axis::loss>
struct weighed_rules<Loss> {
  using type = typename loss_rules<Loss>::rules;
};
template <class Loss, class Weight>
struct weighed_rules<Weighted<Loss, Weight>> {
  using type = mp::mp_append<typename weighed_rules<Loss>::type,
                             mp::mp_list<rule::fraction_is_a_ratio<Weight>, rule::weight_above_zero<Weight>>>;
};
template <class Loss>
struct loss_rules<Summed<Loss>> {
  using rules = mp::mp_list<rule::summed_stands_outside<Summed<Loss>>>;
};
template <class Loss>
  requires(!is_incomplete<Masked<Loss>>)
struct loss_rules<Masked<Loss>> {
  using rules = mp::mp_push_back<typename weighed_rules<Loss>::type,
                                 rule::masked_takes_loss<Loss, requires { typename Loss::masked; }>>;
};
template <class... Losses>
struct loss_rules<SumOf<Losses...>> {
  using rules = mp::mp_append<mp::mp_list<>, typename weighed_rules<Losses>::type...>;
};

/// The rules about an update rule: its options, and its update with this many states.
template <class UpdateRule>
concept MakesCoefficients = std::is_constructible_v<typename UpdateRule::template Coefficients<fp64>,
                                                    const typename UpdateRule::Options&, const Scalars&>;
template <class UpdateRule>
concept HasCoefficients = requires(const typename UpdateRule::Options& options, const Scalars& scalars, double number) {
  { options.learning_rate } -> std::convertible_to<double>;
  requires UpdatesByOperations<UpdateRule> || MakesCoefficients<UpdateRule>;
  number = UpdateRule::correction_first(options, 1);
  number = UpdateRule::correction_second(options, 1);
};
template <class UpdateRule, std::size_t states>
concept UpdatesElements = requires(fp64& weight, fp64 gradient, fp64 (&state)[states == 0 ? 1 : states],
                                   const typename UpdateRule::template Coefficients<fp64>& c) {
  UpdateRule::update(weight, gradient, state, c, true);
};
template <class UpdateRule, std::size_t states>
concept UpdatesTensors =
    requires(const WholeTensor<fp64, states>& tensor, const typename UpdateRule::template Coefficients<fp64>& c) {
      UpdateRule::update_tensor(tensor, c);
    };
template <class UpdateRule, std::size_t states>
constexpr bool updates_with() {
  if constexpr (sees_whole_tensors<UpdateRule> && UpdatesByOperations<UpdateRule>) return states == UpdateRule::states;
  else if constexpr (sees_whole_tensors<UpdateRule>) return UpdatesTensors<UpdateRule, states>;
  else return UpdatesElements<UpdateRule, states>;
}
template <class UpdateRule, std::size_t... states>
constexpr bool updates_with_any(std::index_sequence<states...>) {
  return (updates_with<UpdateRule, states>() || ...);
}
template <class UpdateRule>
constexpr bool states_agree() {
  if constexpr (!updates_with<UpdateRule, UpdateRule::states>()) return false;
  else if constexpr (UpdateRule::states == 0) return true;
  else if constexpr (requires { UpdateRule::state_names.size(); })
    return UpdateRule::state_names.size() == UpdateRule::states;
  else return false;
}
/// An update rule that is not defined yet is not checked here.
template <class UpdateRule>
struct update_rules {
  using rules = mp::mp_list<rule::update_rule_is_whole<UpdateRule>>;
};
template <class UpdateRule>
  requires is_incomplete<UpdateRule>
struct update_rules<UpdateRule> {
  using rules = mp::mp_list<>;
};
template <class UpdateRule>
  requires HasCoefficients<UpdateRule>
struct update_rules<UpdateRule> {
  static constexpr bool agree = states_agree<UpdateRule>();
  static constexpr bool updates = [] {
    if constexpr (agree) return true;
    else return updates_with_any<UpdateRule>(std::make_index_sequence<5>{});
  }();
  using rules = mp::mp_list<rule::update_rule_is_whole<UpdateRule, updates>,
                            rule::update_rule_states_agree<UpdateRule, agree || !updates>>;
};
template <class UpdateRule, class Decay>
struct update_rules<Averaged<UpdateRule, Decay>> {
  using rules = mp::mp_push_back<typename update_rules<UpdateRule>::rules, rule::average_keeps_a_share<Decay>>;
};
/// Of the rules of all groups; a Split in a Split is no update rule.
template <class... Groups>
struct update_rules<Split<Groups...>> {
  using rules = mp::mp_list<rule::split_ends_with_rest<Split<Groups...>>>;
};
template <class... Groups>
  requires(are_groups<Groups...>())
struct update_rules<Split<Groups...>> {
  template <class Rule>
  struct of : update_rules<Rule> {};
  template <class... Inner>
  struct of<Split<Inner...>> {
    using rules = mp::mp_list<rule::update_rule_is_whole<Split<Inner...>>>;
  };
  using rules = mp::mp_unique<mp::mp_append<typename of<typename Groups::rule>::rules...>>;
};

/// The rule about a device and the epilogues of its products.
template <class Device, class Fusing>
using fused_on = rule::product_has_epilogue<Device, Fusing, engine::TraitsOf<typename Device::where>::Epilogues::any>;
/// The rule about a device and a bound on the rows of products.
template <class Target, class Device>
using rows_counted_on =
    rule::unaligned_is_counted<Target, Device,
                               !Target::bounds_rows || engine::TraitsOf<typename Device::where>::is_checked>;
/// The rule about a device and an element type.
template <class Device, class T>
using computed_on = rule::device_computes_in<Device, T, engine::TraitsOf<typename Device::where>::template computes<T>>;

/// The rules about a policy by itself.
template <class P, class Axis = typename P::axis>
struct single {
  using rules = mp::mp_list<>;
};
template <class P>
struct single<P, axis::precision> {
  using rules =
      mp::mp_list<rule::masters_are_not_half<P>, rule::masters_as_wide_as_compute<P>, rule::fp64_masters_need_fp64<P>,
                  rule::reduce_in_compute_or_master<P>, rule::tf32_is_stored_as_fp32<P>>;
};
template <class P>
struct single<P, axis::loss_scale> {
  using rules = mp::mp_list<rule::loss_scale_at_least_one<P>>;
};
template <class P>
struct single<P, axis::checkpoint> {
  template <class... Schedules>
  using of_each =
      mp::mp_append<mp::mp_list<rule::schedules_agree<P>>,
                    mp::mp_list<rule::every_at_least_one<Schedules>, rule::selective_names_layers<Schedules>>...>;
  using rules = mp::mp_apply<of_each, P>;
};
template <class P>
struct single<P, axis::batch> {
  using rules = mp::mp_list<rule::batch_at_least_one<P>>;
};
template <class P>
struct single<P, axis::accumulate> {
  using rules = mp::mp_list<rule::accumulate_at_least_one<P>, rule::reduces_in_one_way<P>>;
};
template <class P>
struct single<P, axis::steps> {
  using rules = mp::mp_list<rule::steps_at_least_one<P>>;
};
template <class P>
struct single<P, axis::clip> {
  using rules = mp::mp_list<rule::clip_above_zero<P>>;
};
template <class P>
struct single<P, axis::optimizer> {
  using rules = typename update_rules<typename P::rule>::rules;
};
template <class P>
struct single<P, axis::loss> {
  using rules = typename loss_rules<typename P::function>::rules;
};
template <class P>
struct single<P, axis::world> {
  using rules = mp::mp_list<rule::world_is_a_number<P>>;
};
template <class P>
struct single<P, axis::device> {
  using rules = mp::mp_list<rule::device_is_included<P, !is_incomplete<engine::Of<typename P::where>>>>;
};
template <class P>
struct single<P, axis::communicator> {
  using rules = mp::mp_list<rule::communicator_is_built<P>>;
};
template <class P>
struct single<P, axis::shard> {
  using rules = mp::mp_list<rule::shard_options_fit<P>>;
};
template <class P>
struct single<P, axis::debug> {
  using rules = mp::mp_list<rule::debug_none_stands_alone<P>>;
};
template <class P>
using single_rules = typename single<P>::rules;

/// Whether the device of a configuration computes in the host's memory.
template <class Configuration>
inline constexpr bool in_host_memory = engine::TraitsOf<typename Configuration::device::where>::is_host_memory;

/// Whether the engine of a configuration computes attention in the form that it decides.
template <class Configuration>
constexpr bool attends_in_form() {
  using Form = typename Configuration::attention::form;
  if constexpr (std::is_same_v<Form, OfDevice>) return true;
  else if constexpr (requires { typename engine::OfConfiguration<Configuration>::Traits::attention; })
    return std::is_same_v<typename engine::OfConfiguration<Configuration>::Traits::attention, Form>;
  else return false;
}

/// Whether the engine has the library that the form calls.
template <class Configuration>
constexpr bool finds_attention() {
  if constexpr (!std::is_same_v<typename Configuration::attention::form, Cudnn>) return true;
  else if constexpr (requires { engine::OfConfiguration<Configuration>::Traits::has_fused_attention; })
    return engine::OfConfiguration<Configuration>::Traits::has_fused_attention;
  else return true;  // then device_attends_in_form refuses it
}

/// Whether the configuration's ranks may use its device.
template <class Configuration>
inline constexpr bool takes_ranks = engine::TraitsOf<typename Configuration::device::where>::template takes_ranks<
    typename Configuration::communicator::ranks>;

/// Whether the engine has the library that connects GPUs, if it needs it.
template <class Configuration>
constexpr bool finds_nccl() {
  if constexpr (!connects_gpus<typename Configuration::communicator::ranks>) return true;
  else if constexpr (requires { engine::OfConfiguration<Configuration>::Traits::has_nccl; })
    return engine::OfConfiguration<Configuration>::Traits::has_nccl;
  else return true;  // then nccl_connects_gpus refuses it
}

/// The rules about several policies of a configuration together.
template <class Configuration>
using cross_rules = mp::mp_list<
    rule::fp16_needs_loss_scale<typename Configuration::precision, typename Configuration::loss_scale>,
    rule::loss_scale_needs_fp16<typename Configuration::precision, typename Configuration::loss_scale>,
    rule::largest_batch_needs_target<typename Configuration::batch, typename Configuration::target>,
    rule::budget_needs_batch<typename Configuration::batch, typename Configuration::checkpoint>,
    rule::offload_needs_two_memories<typename Configuration::checkpoint, typename Configuration::device,
                                     in_host_memory<Configuration>>,
    rule::checkpoint_is_built<typename Configuration::checkpoint, in_host_memory<Configuration>>,
    rule::target_computes_in<typename Configuration::target, typename Configuration::precision::compute>,
    computed_on<typename Configuration::device, typename Configuration::precision::compute>,
    fused_on<typename Configuration::device, typename Configuration::fusion>,
    rows_counted_on<typename Configuration::target, typename Configuration::device>,
    rule::shard_needs_communicator<typename Configuration::shard, typename Configuration::communicator>,
    rule::world_needs_communicator<typename Configuration::world, typename Configuration::communicator>,
    rule::scaled_gradients_reduce_in_fp32<typename Configuration::precision, typename Configuration::loss_scale,
                                          typename Configuration::communicator>,
    rule::global_batch_divides<typename Configuration::batch, typename Configuration::world,
                               typename Configuration::accumulate>,
    rule::groups_divide_world<typename Configuration::shard, typename Configuration::world>,
    rule::kept_segments_exist<typename Configuration::shard, typename Configuration::checkpoint>,
    rule::bucket_reduces_once<typename Configuration::shard, typename Configuration::accumulate>,
    rule::shard_needs_ranks<typename Configuration::shard, typename Configuration::world>,
    rule::cudnn_is_found<typename Configuration::attention, typename Configuration::device,
                         finds_attention<Configuration>()>,
    rule::device_attends_in_form<typename Configuration::attention, typename Configuration::device,
                                 attends_in_form<Configuration>()>,
    rule::reduction_needs_communicator<typename Configuration::accumulate, typename Configuration::communicator>,
    rule::nccl_connects_gpus<typename Configuration::communicator, typename Configuration::device,
                             takes_ranks<Configuration>>,
    rule::nccl_is_found<typename Configuration::communicator, typename Configuration::device,
                        finds_nccl<Configuration>()>,
    rule::device_takes_ranks<typename Configuration::device, typename Configuration::communicator,
                             takes_ranks<Configuration>>,
    rule::anomaly_ends_a_launch<typename Configuration::steps, typename Configuration::debug>,
    rule::synchronous_needs_queue<typename Configuration::debug, typename Configuration::device,
                                  engine::TraitsOf<typename Configuration::device::where>::has_graphs>,
    rule::graph_needs_graphs<typename Configuration::graph, typename Configuration::device,
                             engine::TraitsOf<typename Configuration::device::where>::has_graphs>,
    rule::coupled_samples_stay_together<
        typename Configuration::loss::function, couples_samples<typename Configuration::loss::function>,
        typename Configuration::accumulate, typename Configuration::communicator, typename Configuration::world>>;

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
