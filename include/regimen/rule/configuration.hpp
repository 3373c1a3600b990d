// regimen/rule/configuration.hpp — from a pack of policies, in any order, to one configuration.
#pragma once

#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/batch.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/clip.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/convolution.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/policy/device.hpp>
#include <regimen/policy/freeze.hpp>
#include <regimen/policy/fusion.hpp>
#include <regimen/policy/graph.hpp>
#include <regimen/policy/init.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/loss_scale.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/policy/seed.hpp>
#include <regimen/policy/shard.hpp>
#include <regimen/policy/steps.hpp>
#include <regimen/policy/target.hpp>
#include <regimen/policy/world.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <type_traits>

namespace regimen {

namespace detail {

namespace mp = boost::mp11;

/// The default policies: each axis once. This is the canonical order of the axes.
using default_policies =
    mp::mp_list<Precision<fp32>, LossScale<None>, Checkpoint<None>, Batch<32>, Accumulate<1>, Clip<None>,
                Optimizer<AdamW>, Loss<CrossEntropy>, Device<Cpu>, Target<targets::unlimited>, Communicator<Solo>,
                Shard<Replicated>, Seed<1>, Debug<None>, Freeze<>, Init<Default>, Fusion<Fused>, Attention<>,
                Convolution<>, World<>, Steps<1>, Graph<On>>;

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

/// All policies of a recipe, in canonical order.
template <class Decisions>
struct decided_in {
  template <class DefaultPolicy>
  using fn = policy_for<Decisions, typename DefaultPolicy::axis>;
};
template <class Decisions>
using all_policies = mp::mp_transform_q<decided_in<Decisions>, default_policies>;

}  // namespace detail

/// The policy of each axis of a recipe, defaults included; made by `ConfigurationOf<Policies...>`. Its members have the
/// names of the axes: `precision`, `batch`, ...
///
/// `Chosen` has the policies that differ from the defaults, in canonical order: one type for all orders of a pack,
/// whether or not it contains defaults.
template <class... Chosen>
struct PolicyConfiguration final
    : boost::mp11::mp_apply<detail::policies_by_axis, detail::all_policies<detail::decisions<Chosen...>>> {};

/// The configuration of policies that are Compatible.
template <class... Policies>
using ConfigurationOf = boost::mp11::mp_rename<detail::canonical<detail::decisions<Policies...>>, PolicyConfiguration>;

/// The list of policies Own, in which Given replaces the policies of its axes. For programs with a recipe that users
/// may change in part. Wrong arguments in Given stay in the list, so that Trainer reports them.
///
///   using Recipe = boost::mp11::mp_apply<Trainer, boost::mp11::mp_push_front<MergedPolicies<Own, Given...>, Model>>;
template <class Own, class... Given>
using MergedPolicies =
    boost::mp11::mp_append<boost::mp11::mp_remove_if_q<Own, detail::replaced_by<boost::mp11::mp_list<Given...>>>,
                           boost::mp11::mp_list<Given...>>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
