// regimen/rule/policy_rules.hpp — the rules that each policy must keep by itself.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/clip.hpp>
#include <regimen/policy/freeze.hpp>
#include <regimen/policy/fusion.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/policy/target.hpp>
#include <regimen/rule/arguments.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/losses.hpp>
#include <regimen/rule/options.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/ranks.hpp>
#include <regimen/rule/rule_list.hpp>
#include <regimen/rule/steps.hpp>
#include <regimen/rule/targets.hpp>
#include <regimen/rule/update_rules.hpp>

#include <boost/mp11/bind.hpp>
#include <boost/mp11/set.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

// All aliases take a list, never an enclosing pack, because a member alias that names an outer pack is substituted
// eagerly.

/// Every argument is a policy.
template <class Argument>
using argument_rules = mp::mp_list<argument_is_a_policy<Argument>>;

/// At most one policy decides each axis.
template <class Axis>
struct on_axis {
  template <class P>
  using fn = std::is_same<typename P::axis, Axis>;
};
template <class List>
struct claims_in {
  template <class P>
  using fn = mp::mp_apply<mp::mp_bind_front<one_policy_per_axis, typename P::axis>::template fn,
                          mp::mp_copy_if_q<List, on_axis<typename P::axis>>>;
};
template <class List>
using axis_rules = mp::mp_unique<mp::mp_transform_q<claims_in<List>, List>>;

/// Each policy takes options of its own axis.
template <class P>
struct options_of : RuleList<> {};
template <template <class...> class P, class... Options>
struct options_of<P<Options...>> {
  template <class Axis>
  using asked = mp::mp_unique<mp::mp_list<policy_takes_option<Axis, Options>...>>;
  using type = asked<typename P<Options...>::axis>;
};
template <class Compute, class Master, class Reduce>
struct options_of<Precision<Compute, Master, Reduce>> {
  template <class... T>
  using asked =
      mp::mp_append<mp::mp_list<policy_takes_option<axis::precision, T>...>, mp::mp_list<element_type_is_built<T>...>>;
  using type = mp::mp_apply<asked, mp::mp_unique<mp::mp_list<Compute, Master, Reduce>>>;
};
template <class Fraction>
struct options_of<Clip<Norm<Fraction>>> : RuleList<fraction_is_a_ratio<Fraction>> {};
template <class UpdateRule, class Decays>
struct options_of<Optimizer<UpdateRule, Decays>> {
  using rule_of_updates = policy_takes_option<axis::optimizer, UpdateRule>;
  using type =
      mp::mp_list<std::conditional_t<rule_of_updates::holds, decay_chooses_parameters<Decays>, rule_of_updates>>;
};
template <class... Layers>
struct options_of<Freeze<Layers...>> : RuleList<> {};
template <std::size_t N, class... When>
struct options_of<Accumulate<N, When...>> {
  using type = mp::mp_unique<mp::mp_list<policy_takes_option<axis::accumulate, When>...>>;
};
template <class Bound>
struct bound_rules : RuleList<target_takes_bound<Bound>> {};
template <class Share>
struct bound_rules<Unaligned<Share>> : RuleList<fraction_is_a_ratio<Share>> {};
template <class T, class... Bounds>
struct options_of<Target<T, Bounds...>> {
  static constexpr bool in_order = TargetDescription<T> && sizeof...(Bounds) == 1;
  using type = std::conditional_t<
      sizeof...(Bounds) == 0, mp::mp_list<policy_takes_option<axis::target, T>>,
      std::conditional_t<in_order, mp::mp_append<mp::mp_list<>, typename bound_rules<Bounds>::type...>,
                         mp::mp_list<target_takes_bound<T>>>>;
};
template <class Switch>
struct options_of<Epilogue<Switch>> : RuleList<epilogue_takes_switch<Switch>> {};
template <class P>
using option_rules = typename options_of<P>::type;

/// The rules about a policy by itself.
template <class P, class Axis = typename P::axis>
struct alone : RuleList<> {};
template <class P>
struct alone<P, axis::precision>
    : RuleList<masters_are_not_half<P>, masters_as_wide_as_compute<P>, fp64_masters_need_fp64<P>,
               reduce_in_compute_or_master<P>, tf32_is_stored_as_fp32<P>> {};
template <class P>
struct alone<P, axis::loss_scale> : RuleList<loss_scale_at_least_one<P>> {};
template <class Schedule>
struct single_schedule : RuleList<every_at_least_one<Schedule>, selective_names_layers<Schedule>> {};
template <std::size_t K, class... Schedules>
struct single_schedule<KeepLast<K, Schedules...>> {
  using type = mp::mp_append<mp::mp_unique<mp::mp_list<policy_takes_option<axis::checkpoint, Schedules>...>>,
                             typename single_schedule<Schedules>::type...>;
};
template <class P>
struct alone<P, axis::checkpoint> {
  template <class... Schedules>
  using of_each = mp::mp_append<mp::mp_list<schedules_agree<P>>, typename single_schedule<Schedules>::type...>;
  using type = mp::mp_apply<of_each, P>;
};
template <class P>
struct alone<P, axis::batch> : RuleList<batch_at_least_one<P>> {};
template <class P>
struct alone<P, axis::accumulate> : RuleList<accumulate_at_least_one<P>, reduces_in_one_way<P>> {};
template <class P>
struct alone<P, axis::steps> : RuleList<steps_at_least_one<P>> {};
template <class P>
struct alone<P, axis::clip> : RuleList<clip_above_zero<P>> {};
template <class P>
struct alone<P, axis::optimizer> : update_rules<typename P::rule> {};
template <class P>
struct alone<P, axis::loss> : loss_rules<typename P::function> {};
template <class P>
struct alone<P, axis::world> : RuleList<world_is_a_number<P>> {};
template <class P>
struct alone<P, axis::device> : RuleList<device_is_included<P>> {};
template <class P>
struct alone<P, axis::communicator> : RuleList<communicator_is_built<P>> {};
template <class P>
struct alone<P, axis::shard> : RuleList<shard_options_fit<P>> {};
template <class P>
struct alone<P, axis::debug> : RuleList<debug_none_stands_alone<P>> {};
template <class P>
using single_rules = typename alone<P>::type;

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
