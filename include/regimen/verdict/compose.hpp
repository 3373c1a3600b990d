// regimen/verdict/compose.hpp — turns a pack of policies, in any order, into one configuration, and checks it.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/batch.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/clip.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/policy/device.hpp>
#include <regimen/policy/freeze.hpp>
#include <regimen/policy/fusion.hpp>
#include <regimen/policy/init.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/loss_scale.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/policy/seed.hpp>
#include <regimen/policy/shard.hpp>
#include <regimen/policy/target.hpp>
#include <regimen/policy/world.hpp>
#include <regimen/rule/accumulate_at_least_one.hpp>
#include <regimen/rule/argument_is_a_policy.hpp>
#include <regimen/rule/batch_at_least_one.hpp>
#include <regimen/rule/bucket_reduces_once.hpp>
#include <regimen/rule/checkpoint_is_built.hpp>
#include <regimen/rule/clip_above_zero.hpp>
#include <regimen/rule/communicator_is_built.hpp>
#include <regimen/rule/coupled_samples_stay_together.hpp>
#include <regimen/rule/coupling_is_declared.hpp>
#include <regimen/rule/debug_none_stands_alone.hpp>
#include <regimen/rule/device_is_built.hpp>
#include <regimen/rule/element_type_is_built.hpp>
#include <regimen/rule/every_at_least_one.hpp>
#include <regimen/rule/fp16_needs_loss_scale.hpp>
#include <regimen/rule/fp64_masters_need_fp64.hpp>
#include <regimen/rule/fraction_is_a_ratio.hpp>
#include <regimen/rule/global_batch_divides.hpp>
#include <regimen/rule/groups_divide_world.hpp>
#include <regimen/rule/kept_segments_exist.hpp>
#include <regimen/rule/largest_batch_needs_target.hpp>
#include <regimen/rule/loss_scale_at_least_one.hpp>
#include <regimen/rule/loss_scale_needs_fp16.hpp>
#include <regimen/rule/masters_are_not_half.hpp>
#include <regimen/rule/masters_as_wide_as_compute.hpp>
#include <regimen/rule/model_comes_first.hpp>
#include <regimen/rule/one_policy_per_axis.hpp>
#include <regimen/rule/policy_takes_option.hpp>
#include <regimen/rule/reduce_in_compute_or_master.hpp>
#include <regimen/rule/reduces_in_one_way.hpp>
#include <regimen/rule/reduction_needs_communicator.hpp>
#include <regimen/rule/scaled_gradients_reduce_in_fp32.hpp>
#include <regimen/rule/selective_names_layers.hpp>
#include <regimen/rule/shard_needs_communicator.hpp>
#include <regimen/rule/shard_needs_ranks.hpp>
#include <regimen/rule/shard_options_fit.hpp>
#include <regimen/rule/smoothing_below_one.hpp>
#include <regimen/rule/target_computes_in.hpp>
#include <regimen/rule/update_rule_is_whole.hpp>
#include <regimen/rule/update_rule_states_agree.hpp>
#include <regimen/rule/whole_tensors_stay_whole.hpp>
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

namespace regimen {

namespace detail {

namespace mp = boost::mp11;

/// The default policies. This is the canonical order of the axes.
using default_policies = mp::mp_list<Precision<fp32>, LossScale<None>, Checkpoint<None>, Batch<32>, Accumulate<1>, Clip<None>, Optimizer<AdamW>,
                                     Loss<CrossEntropy>, Device<Cpu>, Target<targets::unlimited>, Communicator<Solo>, Shard<Replicated>, Seed<1>,
                                     Debug<None>, Freeze<>, Init<Default>, Fusion<Fused>, World<>>;

/// A recipe as a map from axes to policies, searched by overload resolution: one deduction per
/// lookup. No axis may occur twice.
template <class Axis, class P>
struct decides {};
template <class... Policies>
struct decisions : decides<typename Policies::axis, Policies>... {};

template <class Axis, class P>
P default_among(const decides<Axis, P>*);
template <class Axis>
using default_for = decltype(default_among<Axis>(static_cast<mp::mp_apply<decisions, default_policies>*>(nullptr)));

template <class Axis, class P>
P decided_among(const decides<Axis, P>*);
template <class Axis>
default_for<Axis> decided_among(const void*);

/// The policy that Decisions have for Axis, or the default.
template <class Decisions, class Axis>
using policy_for = decltype(decided_among<Axis>(static_cast<Decisions*>(nullptr)));

/// The policies that differ from the defaults, in canonical order.
template <class Decisions>
struct differing_in {
  template <class DefaultPolicy, class P = policy_for<Decisions, typename DefaultPolicy::axis>>
  using fn = std::conditional_t<std::is_same_v<P, DefaultPolicy>, mp::mp_list<>, mp::mp_list<P>>;
};
template <class Decisions>
using canonical = mp::mp_apply<mp::mp_append, mp::mp_transform_q<differing_in<Decisions>, default_policies>>;

template <class Argument>
struct axis_or_void {
  using type = void;
};
template <Policy Argument>
struct axis_or_void<Argument> {
  using type = typename Argument::axis;
};
/// The axis that an argument decides; void if it is no policy.
template <class Argument>
using axis_of = typename axis_or_void<Argument>::type;

template <class List>
struct replaced_by {
  template <class Argument>
  using fn = mp::mp_contains<mp::mp_transform<axis_of, List>, axis_of<Argument>>;
};

}  // namespace detail

/// The policy of each axis of a recipe, defaults included; made by `Configured<Policies...>`.
///
/// `Chosen` has the policies that differ from the defaults, in canonical order: one type for all orders of a pack,
/// whether or not it contains defaults.
template <class... Chosen>
struct Configuration final {
 private:
  template <class Axis>
  using decide = detail::policy_for<detail::decisions<Chosen...>, Axis>;

 public:
  using precision = decide<axis::precision>;
  using loss_scale = decide<axis::loss_scale>;
  using checkpoint = decide<axis::checkpoint>;
  using batch = decide<axis::batch>;
  using accumulate = decide<axis::accumulate>;
  using clip = decide<axis::clip>;
  using optimizer = decide<axis::optimizer>;
  using loss = decide<axis::loss>;
  using device = decide<axis::device>;
  using target = decide<axis::target>;
  using communicator = decide<axis::communicator>;
  using shard = decide<axis::shard>;
  using seed = decide<axis::seed>;
  using debug = decide<axis::debug>;
  using freeze = decide<axis::freeze>;
  using init = decide<axis::init>;
  using fusion = decide<axis::fusion>;
  using world = decide<axis::world>;
};

/// The configuration of policies that are Compatible.
template <class... Policies>
using Configured = boost::mp11::mp_rename<detail::canonical<detail::decisions<Policies...>>, Configuration>;

/// The list of policies Own, in which Given replaces the policies of its axes. For programs with a recipe that users
/// may change in part. Wrong arguments in Given stay in the list, so that Trainer reports them.
///
///   using Recipe = boost::mp11::mp_apply<Trainer, boost::mp11::mp_push_front<Merged<Own, Given...>, Model>>;
template <class Own, class... Given>
using Merged =
    boost::mp11::mp_append<boost::mp11::mp_remove_if_q<Own, detail::replaced_by<boost::mp11::mp_list<Given...>>>, boost::mp11::mp_list<Given...>>;

/// The rules about a model and a configuration: `type` is a list of them, checked after all other rules hold.
template <class Model, class Configuration>
struct model_rules {
  using type = boost::mp11::mp_list<>;
};

namespace detail {

// Rules are checked in stages, cheap ones first. A stage assumes that all earlier ones hold, so that one mistake gives
// one error. Lists of broken rules are built only if a rule is broken. All aliases take a list, never an enclosing
// pack, because a member alias that names an outer pack is substituted eagerly.

template <class Rules>
inline constexpr bool all_hold = false;
template <class... Rules>
inline constexpr bool all_hold<mp::mp_list<Rules...>> = (Rules::holds && ...);

template <class Rule>
using broken = mp::mp_bool<!Rule::holds>;
template <class Rules>
using broken_in = mp::mp_copy_if<Rules, broken>;
template <template <class> class rules_of, class List>
using broken_of_each = broken_in<mp::mp_apply<mp::mp_append, mp::mp_transform<rules_of, List>>>;

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
  using fn =
      mp::mp_apply<mp::mp_bind_front<rule::one_policy_per_axis, typename P::axis>::template fn, mp::mp_copy_if_q<List, on_axis<typename P::axis>>>;
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
  using asked = mp::mp_append<mp::mp_list<rule::policy_takes_option<axis::precision, T>...>, mp::mp_list<rule::element_type_is_built<T>...>>;
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
  using rules = mp::mp_list<rule::coupling_is_declared_by_loss<Loss>, rule::fraction_is_a_ratio<typename Loss::smoothing>,
                            rule::smoothing_below_one<typename Loss::smoothing>>;
};

/// The rules about an update rule: its options, and its update with this many states.
template <class UpdateRule>
concept HasCoefficients = requires(const typename UpdateRule::Options& options, const Scalars& scalars, double number) {
  { options.learning_rate } -> std::convertible_to<double>;
  typename UpdateRule::template Coefficients<fp64>;
  requires std::is_constructible_v<typename UpdateRule::template Coefficients<fp64>, const typename UpdateRule::Options&, const Scalars&>;
  number = UpdateRule::correction_first(options, 1);
  number = UpdateRule::correction_second(options, 1);
};
template <class UpdateRule, std::size_t states>
concept UpdatesElements =
    requires(fp64& weight, fp64 gradient, fp64 (&state)[states == 0 ? 1 : states], const typename UpdateRule::template Coefficients<fp64>& c) {
      UpdateRule::update(weight, gradient, state, c, true);
    };
template <class UpdateRule, std::size_t states>
concept UpdatesTensors = requires(const WholeTensor<fp64, states>& tensor, const typename UpdateRule::template Coefficients<fp64>& c) {
  UpdateRule::update_tensor(tensor, c);
};
template <class UpdateRule, std::size_t states>
constexpr bool updates_with() {
  if constexpr (sees_whole_tensors<UpdateRule>) return UpdatesTensors<UpdateRule, states>;
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
  else if constexpr (requires { UpdateRule::state_names.size(); }) return UpdateRule::state_names.size() == UpdateRule::states;
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
  using rules = mp::mp_list<rule::update_rule_is_whole<UpdateRule, updates>, rule::update_rule_states_agree<UpdateRule, agree || !updates>>;
};

/// The rules about a policy by itself.
template <class P, class Axis = typename P::axis>
struct single {
  using rules = mp::mp_list<>;
};
template <class P>
struct single<P, axis::precision> {
  using rules = mp::mp_list<rule::masters_are_not_half<P>, rule::masters_as_wide_as_compute<P>, rule::fp64_masters_need_fp64<P>,
                            rule::reduce_in_compute_or_master<P>>;
};
template <class P>
struct single<P, axis::loss_scale> {
  using rules = mp::mp_list<rule::loss_scale_at_least_one<P>>;
};
template <class P>
struct single<P, axis::checkpoint> {
  using schedule = typename P::schedule;
  using rules = mp::mp_list<rule::every_at_least_one<schedule>, rule::selective_names_layers<schedule>, rule::checkpoint_is_built<schedule>>;
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
  using rules = mp::mp_list<rule::device_is_built<P>>;
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

/// The rules about several policies together.
template <class Precision, class LossScale, class Batch, class Target, class Communicator, class Shard, class World, class Accumulate,
          class Optimizer, class Checkpoint, class Loss>
using rules_between = mp::mp_list<
    rule::fp16_needs_loss_scale<Precision, LossScale>, rule::loss_scale_needs_fp16<Precision, LossScale>,
    rule::largest_batch_needs_target<Batch, Target>, rule::target_computes_in<Target, typename Precision::compute>,
    rule::shard_needs_communicator<Shard, Communicator>, rule::world_needs_communicator<World, Communicator>,
    rule::scaled_gradients_reduce_in_fp32<Precision, LossScale, Communicator>, rule::global_batch_divides<Batch, World, Accumulate>,
    rule::groups_divide_world<Shard, World>, rule::whole_tensors_stay_whole<Optimizer, Shard>, rule::kept_segments_exist<Shard, Checkpoint>,
    rule::bucket_reduces_once<Shard, Accumulate>, rule::shard_needs_ranks<Shard, World>, rule::reduction_needs_communicator<Accumulate, Communicator>,
    rule::coupled_samples_stay_together<typename Loss::function, couples_samples<typename Loss::function>, Accumulate, Communicator, World>>;
template <class Decisions>
using cross_rules = rules_between<policy_for<Decisions, axis::precision>, policy_for<Decisions, axis::loss_scale>, policy_for<Decisions, axis::batch>,
                                  policy_for<Decisions, axis::target>, policy_for<Decisions, axis::communicator>, policy_for<Decisions, axis::shard>,
                                  policy_for<Decisions, axis::world>, policy_for<Decisions, axis::accumulate>, policy_for<Decisions, axis::optimizer>,
                                  policy_for<Decisions, axis::checkpoint>, policy_for<Decisions, axis::loss>>;

template <class... Policies>
constexpr auto broken_policy_rules() {
  using List = mp::mp_list<Policies...>;
  if constexpr (!(rule::argument_is_a_policy<Policies>::holds && ...)) {
    return broken_of_each<argument_rules, List>{};
  } else if constexpr (!mp::mp_is_set<mp::mp_list<typename Policies::axis...>>::value) {
    return broken_in<axis_rules<List>>{};
  } else if constexpr (!(all_hold<option_rules<Policies>> && ...)) {
    return broken_of_each<option_rules, List>{};
  } else if constexpr (!(all_hold<single_rules<Policies>> && ...)) {
    return broken_of_each<single_rules, List>{};
  } else if constexpr (!all_hold<cross_rules<decisions<Policies...>>>) {
    return broken_in<cross_rules<decisions<Policies...>>>{};
  } else {
    return mp::mp_list<>{};
  }
}
template <class... Policies>
using broken_policy_rules_of = decltype(broken_policy_rules<Policies...>());

template <class Model, class... Policies>
constexpr auto all_broken_rules() {
  if constexpr (!rule::model_comes_first<Model>::holds) {
    return mp::mp_list<rule::model_comes_first<Model>>{};
  } else if constexpr (!mp::mp_empty<broken_policy_rules_of<Policies...>>::value) {
    return broken_policy_rules_of<Policies...>{};
  } else {
    return broken_in<typename model_rules<Model, Configured<Policies...>>::type>{};
  }
}

/// The broken rules of Trainer<Model, Policies...>, from the first stage with broken rules; empty if it composes.
template <class Model, class... Policies>
using broken_rules = decltype(all_broken_rules<Model, Policies...>());

}  // namespace detail

/// Whether policies compose, as far as this can be decided without a model. A value, for tests and `if constexpr`.
///
///   valid      Compatible<Precision<fp16, fp32>, LossScale<Dynamic>>
///   invalid    Compatible<Precision<fp16, fp32>>      fp16 needs a loss scale
template <class... Policies>
concept Compatible = boost::mp11::mp_empty<detail::broken_policy_rules_of<Policies...>>::value;

/// Whether Trainer<Model, Policies...> compiles; the order of the policies does not matter.
///
///   valid      Composable<Gpt, Checkpoint<Every<2>>, Batch<8>>
///   invalid    Composable<Gpt, Checkpoint<Every<9>>>  where Gpt is 6 blocks deep
template <class Model, class... Policies>
concept Composable = boost::mp11::mp_empty<detail::broken_rules<Model, Policies...>>::value;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
