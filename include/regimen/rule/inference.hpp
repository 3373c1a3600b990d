// regimen/rule/inference.hpp — rules about inference: a model that predicts and does not train.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/cross_rules.hpp>
#include <regimen/rule/model_rules.hpp>
#include <regimen/rule/policy_rules.hpp>
#include <regimen/rule/rule_list.hpp>

#include <type_traits>

namespace regimen::rule {

/// Inference would ignore an optimizer.   docs/errors/inference.md#inference_trains_nothing
template <class P>
struct inference_trains_nothing {
  static constexpr bool holds = detail::is_any_of<typename P::axis, axis::precision, axis::batch, axis::device,
                                                  axis::target, axis::fusion, axis::attention, axis::convolution>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution");
  };
};

/// A const object is one that several threads may call. A const model of a program's own may compute.
/// docs/errors/inference.md#inference_is_not_const
template <class Model>
struct inference_is_not_const {
  static constexpr bool holds = !(std::is_const_v<Model> && requires { Model::shared_plan(); });
  struct must_hold {
    static_assert(
        holds, "regimen: a const Inference neither predicts nor loads; leave out const, or call its share() for one");
  };
};

/// A copy would have weights and an arena of its own.   docs/errors/inference.md#inference_is_not_copied
template <class Inference>
struct inference_is_not_copied {
  static constexpr bool holds = never<Inference>;
  struct must_hold {
    static_assert(holds, "regimen: an Inference is not copied; share its weights by model.share(), or std::move it");
  };
};

/// Kernels of a GPU reach tensors of one allocation.   docs/errors/inference.md#device_shares_weights
template <class Device, bool shares>
struct device_shares_weights {
  static constexpr bool holds = shares;
  struct must_hold {
    static_assert(
        holds, "regimen: Inference::share shares memory of the host; load the file into one Inference for each thread");
  };
};

/// The rules of a Trainer, for the policies of Inference, without the rules about master weights.
template <class P>
using inference_rules = mp::mp_list<inference_trains_nothing<P>>;

template <class P>
struct inference_single : alone<P> {};
template <class T>
struct inference_single<Precision<T>> : RuleList<> {};
template <class P>
using inference_single_rules = typename inference_single<P>::type;

}  // namespace regimen::rule

namespace regimen {

namespace detail {

template <class Network, class... Policies>
struct BrokenForInference {
  using type = rule::broken_of<decltype(rule::rules_of_model<Network, ConfigurationOf<Policies...>, false>())>;
};
template <class Network, class... Policies>
using broken_inference_rules = typename FirstBroken<
    BrokenModel<Network>, BrokenOfEach<rule::argument_rules, Policies...>,
    BrokenOfEach<rule::inference_rules, Policies...>, BrokenAxes<Policies...>,
    BrokenOfEach<rule::option_rules, Policies...>, BrokenOfEach<rule::inference_single_rules, Policies...>,
    BrokenTogether<rule::inference_cross_rules, Policies...>, BrokenForInference<Network, Policies...>>::type;

}  // namespace detail

/// Whether Inference<Network, Policies...> compiles; the order of the policies does not matter.
///
///   valid      Inferable<Gpt, Precision<bf16>, Batch<1>>
///   invalid    Inferable<Gpt, Optimizer<AdamW>>
template <class Network, class... Policies>
concept Inferable = boost::mp11::mp_empty<detail::broken_inference_rules<Network, Policies...>>::value;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
