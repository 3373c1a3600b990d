// regimen/verdict/loss_rules.hpp — the rules about a loss by itself.
#pragma once

#include <regimen/policy/policy.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/losses.hpp>
#include <regimen/rule/options.hpp>

#include <boost/mp11/list.hpp>

namespace regimen::detail {

namespace mp = boost::mp11;

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
template <class Loss>
  requires(!is_incomplete<SampleWeighted<Loss>>)
struct loss_rules<SampleWeighted<Loss>> {
  using rules = mp::mp_push_back<typename weighed_rules<Loss>::type,
                                 rule::sample_weighted_takes_loss<Loss, requires { requires Loss::takes_weights; }>>;
};
/// Of a loss in a sum.
template <class Loss>
struct summand_rules : weighed_rules<Loss> {};
template <class Loss>
struct summand_rules<SampleWeighted<Loss>> {
  using type = mp::mp_list<rule::sample_weighted_stands_outside<SampleWeighted<Loss>>>;
};
template <class Loss, class Weight>
struct summand_rules<Weighted<SampleWeighted<Loss>, Weight>> : summand_rules<SampleWeighted<Loss>> {};
template <class... Losses>
struct loss_rules<SumOf<Losses...>> {
  using rules = mp::mp_append<mp::mp_list<>, typename summand_rules<Losses>::type...>;
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
