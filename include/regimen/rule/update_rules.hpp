// regimen/rule/update_rules.hpp — the rules about an update rule: its options, its states, its groups.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/rule/rule_list.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen::rule {

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
  if constexpr (detail::sees_whole_tensors<UpdateRule> && UpdatesByOperations<UpdateRule>)
    return states == UpdateRule::states;
  else if constexpr (detail::sees_whole_tensors<UpdateRule>) return UpdatesTensors<UpdateRule, states>;
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
template <class UpdateRule>
constexpr bool is_whole() {
  if constexpr (!HasCoefficients<UpdateRule>) return false;
  else if constexpr (states_agree<UpdateRule>()) return true;
  else return updates_with_any<UpdateRule>(std::make_index_sequence<5>{});
}
/// policy/optimizer.hpp lists these members.   docs/errors/extensions.md#update_rule_is_whole
template <class UpdateRule>
struct update_rule_is_whole {
  static constexpr bool holds = is_whole<UpdateRule>();
  struct must_hold {
    static_assert(
        holds,
        "regimen: an update rule has Options::learning_rate, Coefficients<S>, both corrections, and update; give it all");
  };
};

/// state_names and the array of update have `states` elements. update_rule_is_whole refuses what lacks a member.
/// docs/errors/extensions.md#update_rule_states_agree
template <class UpdateRule>
struct update_rule_states_agree {
  static constexpr bool holds = [] {
    if constexpr (is_whole<UpdateRule>()) return states_agree<UpdateRule>();
    else return true;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: an update rule counts its states differently; let states, state_names and the array of update agree");
  };
};

/// With 1 an average would never move.   docs/errors/options.md#average_keeps_a_share
template <class Decay>
struct average_keeps_a_share {
  static constexpr bool holds = is_share<Decay>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Averaged<...> keeps a share of at least 0 and below 1; write Averaged<AdamW, Ratio<999, 1000>>");
  };
};

/// optimizer/split.hpp says what a group is.   docs/errors/options.md#split_ends_with_rest
template <class UpdateRule>
struct split_ends_with_rest {
  static constexpr bool holds = never<UpdateRule>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Split<...> lacks groups; give it up to three, such as Matrices<Muon>, and end with Rest<AdamW>");
  };
};

/// An update rule that is not defined yet is not checked here.
template <class UpdateRule>
struct update_rules : RuleList<update_rule_is_whole<UpdateRule>, update_rule_states_agree<UpdateRule>> {};
template <class UpdateRule>
  requires detail::is_incomplete<UpdateRule>
struct update_rules<UpdateRule> : RuleList<> {};
template <class UpdateRule, class Decay>
struct update_rules<Averaged<UpdateRule, Decay>> {
  using type = mp::mp_push_back<typename update_rules<UpdateRule>::type, average_keeps_a_share<Decay>>;
};
/// Of the rules of all groups; a Split in a Split is no update rule.
template <class... Groups>
struct update_rules<Split<Groups...>> : RuleList<split_ends_with_rest<Split<Groups...>>> {};
template <class... Groups>
  requires(detail::are_groups<Groups...>())
struct update_rules<Split<Groups...>> {
  template <class Rule>
  struct of : update_rules<Rule> {};
  template <class... Inner>
  struct of<Split<Inner...>> : RuleList<update_rule_is_whole<Split<Inner...>>> {};
  using type = mp::mp_unique<mp::mp_append<typename of<typename Groups::rule>::type...>>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
