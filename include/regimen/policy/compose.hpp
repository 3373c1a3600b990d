// regimen/policy/compose.hpp — from a pack of policies, in any order, to one configuration; and the verdict on it.
#pragma once

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
#include <regimen/rule/accumulate_at_least_one.hpp>
#include <regimen/rule/argument_is_a_policy.hpp>
#include <regimen/rule/batch_at_least_one.hpp>
#include <regimen/rule/checkpoint_is_built.hpp>
#include <regimen/rule/clip_above_zero.hpp>
#include <regimen/rule/communicator_is_built.hpp>
#include <regimen/rule/debug_none_stands_alone.hpp>
#include <regimen/rule/device_is_built.hpp>
#include <regimen/rule/every_at_least_one.hpp>
#include <regimen/rule/fp16_needs_loss_scale.hpp>
#include <regimen/rule/fp64_masters_need_fp64.hpp>
#include <regimen/rule/largest_batch_needs_target.hpp>
#include <regimen/rule/loss_scale_at_least_one.hpp>
#include <regimen/rule/loss_scale_needs_fp16.hpp>
#include <regimen/rule/masters_are_not_half.hpp>
#include <regimen/rule/masters_as_wide_as_compute.hpp>
#include <regimen/rule/model_comes_first.hpp>
#include <regimen/rule/one_policy_per_axis.hpp>
#include <regimen/rule/policy_takes_option.hpp>
#include <regimen/rule/reduce_in_compute_or_master.hpp>
#include <regimen/rule/selective_names_layers.hpp>
#include <regimen/rule/shard_is_built.hpp>
#include <regimen/rule/target_computes_in.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/bind.hpp>
#include <boost/mp11/list.hpp>
#include <boost/mp11/set.hpp>

namespace regimen {

namespace detail {

namespace mp = boost::mp11;

/// What an axis is when nobody decides it. This order of the axes is the canonical one.
using default_policies = mp::mp_list<Precision<fp32>, LossScale<None>, Checkpoint<None>, Batch<32>, Accumulate<1>, Clip<None>, Optimizer<AdamW>,
                                     Loss<CrossEntropy>, Device<Cpu>, Target<targets::unlimited>, Communicator<Solo>, Shard<Replicated>, Seed<1>,
                                     Debug<None>, Freeze<>, Init<Default>, Fusion<On>>;

template <class Argument> struct axis_or_void { using type = void; };
template <Policy Argument> struct axis_or_void<Argument> { using type = typename Argument::axis; };

/// The axis that an argument decides; void when it is not a policy.
template <class Argument> using axis_of = typename axis_or_void<Argument>::type;

template <class Axis> struct on_axis { template <class Argument> using fn = std::is_same<axis_of<Argument>, Axis>; };

/// The first of List that decides Axis, or Otherwise when none does. Arguments that are no policies are passed over.
template <class List, class Axis, class Otherwise>
using policy_for = mp::mp_front<mp::mp_push_back<mp::mp_copy_if_q<List, on_axis<Axis>>, Otherwise>>;

template <class Axis> using default_for = policy_for<default_policies, Axis, void>;

template <class List> struct decided_in { template <class DefaultPolicy> using fn = policy_for<List, typename DefaultPolicy::axis, DefaultPolicy>; };

/// One policy for each axis, in canonical order.
template <class List> using completed = mp::mp_transform_q<decided_in<List>, default_policies>;

template <class List> struct replaced_by {
  template <class Argument> using fn = mp::mp_contains<mp::mp_transform<axis_of, List>, axis_of<Argument>>;
};

}  // namespace detail

/// What a recipe decides, axis by axis, with the defaults filled in; made by `Configured<Policies...>`.
///
/// `Chosen` is what differs from the defaults, in canonical order: one type for all orders of a pack, whether or not a default is
/// spelled out.
template <class... Chosen> struct Configuration final {
 private:
  template <class Axis> using decide = detail::policy_for<boost::mp11::mp_list<Chosen...>, Axis, detail::default_for<Axis>>;

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
};

/// The configuration of a pack of policies that is Compatible.
template <class... Policies>
using Configured =
    boost::mp11::mp_rename<boost::mp11::mp_set_difference<detail::completed<boost::mp11::mp_list<Policies...>>, detail::default_policies>,
                           Configuration>;

/// Own, a list of policies, where each policy that Given decides anew is replaced. Programs that offer a recipe and let their
/// users change parts of it are written with this; what Given says wrongly is still in the list, and Trainer speaks about it.
///
///   using Recipe = boost::mp11::mp_apply<Trainer, boost::mp11::mp_push_front<Merged<Own, Given...>, Model>>;
template <class Own, class... Given>
using Merged =
    boost::mp11::mp_append<boost::mp11::mp_remove_if_q<Own, detail::replaced_by<boost::mp11::mp_list<Given...>>>, boost::mp11::mp_list<Given...>>;

/// The rules that tie a model to a configuration: `type` is a list of them, asked once all other rules hold.
template <class Model, class Configuration> struct model_rules { using type = boost::mp11::mp_list<>; };

namespace detail {

// A verdict is asked for in stages, cheap ones first; a stage may assume that all before it hold, so that one mistake is one error.
// Everything is written over a list, never over an enclosing pack: a member alias that names an outer pack is substituted eagerly.

template <class Rule> using broken = mp::mp_bool<!Rule::holds>;
template <class Rules> using broken_in = mp::mp_copy_if<Rules, broken>;

template <class Rules> inline constexpr bool all_hold = false;
template <class... Rules> inline constexpr bool all_hold<mp::mp_list<Rules...>> = (Rules::holds && ...);

template <class List> using argument_rules = mp::mp_transform<rule::argument_is_a_policy, List>;

template <class List> struct claims_in {
  template <class Argument>
  using fn =
      mp::mp_apply<mp::mp_bind_front<rule::one_policy_per_axis, axis_of<Argument>>::template fn, mp::mp_copy_if_q<List, on_axis<axis_of<Argument>>>>;
};
template <class List> using axis_rules = mp::mp_unique<mp::mp_transform_q<claims_in<List>, List>>;

/// Each policy holds options of its kind.
template <class P> struct option_rules { using type = mp::mp_list<>; };
template <template <class...> class P, class... Options>
  requires requires { typename P<Options...>::axis; }
struct option_rules<P<Options...>> {
  template <class Option> using asked = rule::policy_takes_option<typename P<Options...>::axis, Option>;
  using type = mp::mp_unique<mp::mp_list<asked<Options>...>>;
};
template <class... Layers> struct option_rules<Freeze<Layers...>> { using type = mp::mp_list<>; };
template <class P> using option_rules_of = typename option_rules<P>::type;
template <class List> using all_option_rules = mp::mp_apply<mp::mp_append, mp::mp_transform<option_rules_of, List>>;

/// Rules on one policy each.
template <class C>
using single_rules = mp::mp_list<rule::masters_are_not_half<typename C::precision>, rule::masters_as_wide_as_compute<typename C::precision>,
                                 rule::fp64_masters_need_fp64<typename C::precision>, rule::reduce_in_compute_or_master<typename C::precision>,
                                 rule::loss_scale_at_least_one<typename C::loss_scale>, rule::every_at_least_one<typename C::checkpoint::schedule>,
                                 rule::selective_names_layers<typename C::checkpoint::schedule>,
                                 rule::checkpoint_is_built<typename C::checkpoint::schedule>, rule::batch_at_least_one<typename C::batch>,
                                 rule::accumulate_at_least_one<typename C::accumulate>, rule::clip_above_zero<typename C::clip>,
                                 rule::device_is_built<typename C::device>, rule::communicator_is_built<typename C::communicator>,
                                 rule::shard_is_built<typename C::shard>, rule::debug_none_stands_alone<typename C::debug>>;

/// Rules between policies.
template <class C>
using cross_rules = mp::mp_list<rule::fp16_needs_loss_scale<typename C::precision, typename C::loss_scale>,
                                rule::loss_scale_needs_fp16<typename C::precision, typename C::loss_scale>,
                                rule::largest_batch_needs_target<typename C::batch, typename C::target>,
                                rule::target_computes_in<typename C::target, typename C::precision::compute>>;

template <class... Policies> constexpr auto broken_policy_rules() {
  using List = mp::mp_list<Policies...>;
  if constexpr (!(rule::argument_is_a_policy<Policies>::holds && ...)) {
    return broken_in<argument_rules<List>>{};
  } else if constexpr (!mp::mp_is_set<mp::mp_list<axis_of<Policies>...>>::value) {
    return broken_in<axis_rules<List>>{};
  } else if constexpr (!all_hold<all_option_rules<List>>) {
    return broken_in<all_option_rules<List>>{};
  } else if constexpr (!all_hold<single_rules<Configured<Policies...>>>) {
    return broken_in<single_rules<Configured<Policies...>>>{};
  } else {
    return broken_in<cross_rules<Configured<Policies...>>>{};
  }
}

template <class... Policies> using broken_policy_rules_of = decltype(broken_policy_rules<Policies...>());

template <class Model, class... Policies> constexpr auto all_broken_rules() {
  if constexpr (!rule::model_comes_first<Model>::holds) {
    return mp::mp_list<rule::model_comes_first<Model>>{};
  } else if constexpr (!mp::mp_empty<broken_policy_rules_of<Policies...>>::value) {
    return broken_policy_rules_of<Policies...>{};
  } else {
    return broken_in<typename model_rules<Model, Configured<Policies...>>::type>{};
  }
}

/// The rules that Trainer<Model, Policies...> breaks, of the first stage that breaks any; empty when it composes.
template <class Model, class... Policies> using broken_rules = decltype(all_broken_rules<Model, Policies...>());

}  // namespace detail

/// Whether policies compose, as far as that can be said without a model. The verdict as a value: for tests and `if constexpr`.
///
///   valid      Compatible<Precision<fp16, fp32>, LossScale<Dynamic>>
///   invalid    Compatible<Precision<fp16, fp32>>      fp16 needs a loss scale
template <class... Policies>
concept Compatible = boost::mp11::mp_empty<decltype(detail::broken_policy_rules<Policies...>())>::value;

/// Whether Trainer<Model, Policies...> compiles; the order of the policies does not matter.
///
///   valid      Composable<Gpt, Checkpoint<Every<2>>, Batch<8>>
///   invalid    Composable<Gpt, Checkpoint<Every<9>>>  where Gpt is 6 blocks deep
template <class Model, class... Policies>
concept Composable = boost::mp11::mp_empty<detail::broken_rules<Model, Policies...>>::value;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
