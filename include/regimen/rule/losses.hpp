// regimen/rule/losses.hpp — rules of losses: options, company. Of the outputs that they read: output_rules.hpp.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/options.hpp>
#include <regimen/rule/rule_list.hpp>

namespace regimen::rule {

/// A loss of weight 0 computes gradients of 0, one below 0 is maximised.   docs/errors/losses.md#weight_above_zero
template <class Weight>
struct weight_above_zero {
  static constexpr bool holds = !is_ratio<Weight> || is_above_zero<Weight>;
  struct must_hold {
    static_assert(holds,
                  "regimen: the weight of a loss is above 0; write Weighted<Loss, Ratio<1, 2>>, or leave it out");
  };
};

/// Stands: whether it is the loss itself. In SumOf and Masked a loss is divided with the others, by what counts.
/// docs/errors/losses.md#summed_stands_outside
template <class Function>
struct summed_stands_outside {
  static constexpr bool holds = never<Function>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Summed<...> stands directly in Loss<...>; write Loss<Summed<SumOf<...>>>, or Weighted<...> inside");
  };
};

/// Stands: whether it is the loss itself. SumOf divides each of its losses by samples, not by their weights.
/// docs/errors/losses.md#sample_weighted_stands_outside
template <class Function>
struct sample_weighted_stands_outside {
  static constexpr bool holds = never<Function>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SampleWeighted<...> stands directly in Loss<...> or Summed<...>; in SumOf write Weighted<Loss, Ratio>");
  };
};

/// The loss weighs its targets.   docs/errors/losses.md#sample_weighted_takes_loss
template <class Function>
struct sample_weighted_takes_loss {
  static constexpr bool holds = requires { requires Function::takes_weights; };
  struct must_hold {
    static_assert(
        holds,
        "regimen: SampleWeighted<...> takes a loss of single targets, such as CrossEntropy; write one, or leave it out");
  };
};

/// The loss has a form without absent targets.   docs/errors/losses.md#masked_takes_loss
template <class Function>
struct masked_takes_loss {
  static constexpr bool holds = requires { typename Function::masked; };
  struct must_hold {
    static_assert(
        holds,
        "regimen: Masked<...> takes a loss of numbers, such as MeanSquaredError; in CrossEntropy write ignore_index");
  };
};

/// The label has the probability 1 − Smoothing; a loss with negative probabilities has no minimum. fraction_is_a_ratio
/// refuses a Smoothing that is no Ratio.
/// docs/errors/losses.md#smoothing_below_one
template <class Smoothing>
struct smoothing_below_one {
  static constexpr bool holds = !is_ratio<Smoothing> || is_share<Smoothing>;
  struct must_hold {
    static_assert(
        holds, "regimen: SmoothedCrossEntropy<Ratio<...>> smooths by at least 0 and less than 1; write Ratio<1, 10>");
  };
};

/// With zero the loss is zero everywhere. fraction_is_a_ratio refuses a Delta that is no Ratio.
/// docs/errors/losses.md#delta_above_zero
template <class Delta>
struct delta_above_zero {
  static constexpr bool holds = !is_ratio<Delta> || is_above_zero<Delta>;
  struct must_hold {
    static_assert(holds, "regimen: Huber<Ratio<...>> is quadratic up to a bound above zero; write Huber<Ratio<1>>");
  };
};

/// fraction_is_a_ratio refuses a Temperature that is no Ratio.   docs/errors/losses.md#temperature_above_zero
template <class Temperature>
struct temperature_above_zero {
  static constexpr bool holds = !is_ratio<Temperature> || is_above_zero<Temperature>;
  struct must_hold {
    static_assert(holds, "regimen: NtXent<Ratio<...>> divides by a temperature above zero; write NtXent<Ratio<1, 2>>");
  };
};

/// The rules about a loss by itself; a loss that is not defined yet is checked later.
template <class Loss>
struct loss_rules : RuleList<coupling_is_declared_by_loss<Loss>> {};
template <class Loss>
  requires detail::is_incomplete<Loss>
struct loss_rules<Loss> : RuleList<> {};
template <class Loss>
  requires requires { typename Loss::smoothing; }
struct loss_rules<Loss> : RuleList<coupling_is_declared_by_loss<Loss>, fraction_is_a_ratio<typename Loss::smoothing>,
                                   smoothing_below_one<typename Loss::smoothing>> {};
template <class Loss>
  requires requires { typename Loss::delta; }
struct loss_rules<Loss> : RuleList<coupling_is_declared_by_loss<Loss>, fraction_is_a_ratio<typename Loss::delta>,
                                   delta_above_zero<typename Loss::delta>> {};
template <class Loss>
  requires requires { typename Loss::temperature; }
struct loss_rules<Loss> : RuleList<coupling_is_declared_by_loss<Loss>, fraction_is_a_ratio<typename Loss::temperature>,
                                   temperature_above_zero<typename Loss::temperature>> {};

/// Those of all losses of a sum.
template <class Loss>
struct weighed_rules : RuleList<policy_takes_option<axis::loss, Loss>> {};
template <class Loss>
  requires detail::belongs_to<Loss, axis::loss>
struct weighed_rules<Loss> : loss_rules<Loss> {};
template <class Loss, class Weight>
struct weighed_rules<Weighted<Loss, Weight>> {
  using type = mp::mp_append<typename weighed_rules<Loss>::type,
                             mp::mp_list<fraction_is_a_ratio<Weight>, weight_above_zero<Weight>>>;
};
template <class Loss>
struct loss_rules<Summed<Loss>> : RuleList<summed_stands_outside<Summed<Loss>>> {};
template <class Loss>
  requires(!detail::is_incomplete<Masked<Loss>>)
struct loss_rules<Masked<Loss>> {
  using type = mp::mp_push_back<typename weighed_rules<Loss>::type, masked_takes_loss<Loss>>;
};
template <class Loss>
  requires(!detail::is_incomplete<SampleWeighted<Loss>>)
struct loss_rules<SampleWeighted<Loss>> {
  using type = mp::mp_push_back<typename weighed_rules<Loss>::type, sample_weighted_takes_loss<Loss>>;
};
/// Of a loss in a sum.
template <class Loss>
struct summand_rules : weighed_rules<Loss> {};
template <class Loss>
struct summand_rules<SampleWeighted<Loss>> : RuleList<sample_weighted_stands_outside<SampleWeighted<Loss>>> {};
template <class Loss, class Weight>
struct summand_rules<Weighted<SampleWeighted<Loss>, Weight>> : summand_rules<SampleWeighted<Loss>> {};
template <class... Losses>
struct loss_rules<SumOf<Losses...>> {
  using type = mp::mp_append<mp::mp_list<>, typename summand_rules<Losses>::type...>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
