// regimen/rule/compose.hpp — whether policies and a model compose: the rules, asked in stages.
#pragma once

// First what speaks: a compiler prints the way of includes to a rule.
#include <regimen/core/rules.hpp>
#include <regimen/rule/arguments.hpp>
#include <regimen/rule/checkpointing.hpp>
#include <regimen/rule/devices.hpp>
#include <regimen/rule/extensions.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/options.hpp>
#include <regimen/rule/precision.hpp>
#include <regimen/rule/ranks.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/steps.hpp>
#include <regimen/rule/targets.hpp>
#include <regimen/rule/texts.hpp>
#include <regimen/rule/update_rules.hpp>
#include <regimen/rule/weights.hpp>

#include <regimen/rule/configuration.hpp>
#include <regimen/rule/cross_rules.hpp>
#include <regimen/rule/policy_rules.hpp>
#include <regimen/rule/rule_list.hpp>

#include <boost/mp11/set.hpp>

#include <type_traits>

namespace regimen {

/// The rules about a model and a configuration: `type` is a list of them, checked after all other rules hold.
template <class Model, class Configuration>
struct model_rules {
  using type = boost::mp11::mp_list<>;
};

namespace detail {

// Rules are checked in stages, cheap ones first. A stage assumes that all earlier ones hold, so that one mistake gives
// one error. Lists of broken rules are built only if a rule is broken.

template <class Rules>
inline constexpr bool all_hold = false;
template <class... Rules>
inline constexpr bool all_hold<mp::mp_list<Rules...>> = (Rules::holds && ...);

template <class List>
using broken_axis_rules = rule::broken_of<rule::axis_rules<List>>;

/// A stage: `type` is the list of its broken rules.
///   BrokenOf       of these rules            BrokenAxes       two policies of one axis
///   BrokenOfEach   of those of each policy   BrokenTogether   of those of the configuration
template <class Rules>
struct BrokenOf {
  using type = mp::mp_eval_if_c<all_hold<Rules>, mp::mp_list<>, rule::broken_of, Rules>;
};
template <template <class> class rules_of, class... Policies>
struct BrokenOfEach : BrokenOf<mp::mp_append<mp::mp_list<>, rules_of<Policies>...>> {};
template <class... Policies>
struct BrokenAxes {
  using List = mp::mp_list<Policies...>;
  using type =
      mp::mp_eval_if<mp::mp_is_set<mp::mp_list<typename Policies::axis...>>, mp::mp_list<>, broken_axis_rules, List>;
};
template <template <class> class rules_of, class... Policies>
struct BrokenTogether : BrokenOf<rules_of<ConfigurationOf<Policies...>>> {};
/// A constraint, for `holds` is no constant in nvcc where the compiler could not read the base of Model.
template <class Model>
struct BrokenModel : rule::RuleList<rule::model_comes_first<Model>> {};
template <class Model>
  requires(rule::model_comes_first<Model>::holds)
struct BrokenModel<Model> : rule::RuleList<> {};
template <class Model, class... Policies>
struct BrokenWithModel {
  using type = rule::broken_of<typename model_rules<Model, ConfigurationOf<Policies...>>::type>;
};

/// The first stage with broken rules; the later ones are not asked.
template <class... Stages>
struct FirstBroken {
  using type = mp::mp_list<>;
};
template <class First, class... Others>
struct FirstBroken<First, Others...>
    : std::conditional_t<mp::mp_empty<typename First::type>::value, FirstBroken<Others...>, First> {};

template <class... Policies>
using PolicyStages =
    FirstBroken<BrokenOfEach<rule::argument_rules, Policies...>, BrokenAxes<Policies...>,
                BrokenOfEach<rule::option_rules, Policies...>, BrokenOfEach<rule::single_rules, Policies...>,
                BrokenTogether<rule::cross_rules, Policies...>>;
template <class... Policies>
using broken_policy_rules_of = typename PolicyStages<Policies...>::type;

/// The broken rules of Trainer<Model, Policies...>, from the first stage with broken rules; empty if it composes.
template <class Model, class... Policies>
using broken_rules =
    typename FirstBroken<BrokenModel<Model>, PolicyStages<Policies...>, BrokenWithModel<Model, Policies...>>::type;

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
