// regimen/programs/groups.hpp — the update rules of an Optimizer: one, or one for each group of parameters.
#pragma once

#include <regimen/core/path.hpp>
#include <regimen/core/schedule.hpp>
#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/split.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/walk/node.hpp>
#include <regimen/walk/unit.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace regimen::programs {

/// Choice   what a walk asks for the group of a parameter; void: there is one
template <class UpdateRule>
struct GroupsOf final {
  using Choice = void;
  using Rules = boost::mp11::mp_list<UpdateRule>;
  static constexpr std::size_t count = 1;
  template <std::size_t>
  static constexpr const auto& options(const typename UpdateRule::Options& all) {
    return all;
  }
  /// What errors call the options of a group.
  template <std::size_t>
  static std::string name() {
    return "optimizer.";
  }
  /// The largest rate of a step.   share   of the Trainer's schedule
  static double rate(const typename UpdateRule::Options& all, double share, std::uint64_t) {
    return all.learning_rate * share;
  }
  static bool has_schedules(const typename UpdateRule::Options&) { return false; }
};
template <class... Groups>
struct GroupsOf<Split<Groups...>> final {
  using Choice = Split<Groups...>;
  using Rules = boost::mp11::mp_list<typename Groups::rule...>;
  static constexpr std::size_t count = sizeof...(Groups);
  template <std::size_t group>
  static constexpr const auto& options(const typename Choice::Options& all) {
    return regimen::detail::of_group<group, count>(all);
  }
  template <std::size_t group>
  static std::string name() {
    return std::string("optimizer.") + regimen::detail::names_of_groups[group + 1 == count ? 3 : group] + ".";
  }
  template <std::size_t group>
  static constexpr const regimen::detail::OwnSchedule& schedule(const typename Choice::Options& all) {
    return regimen::detail::of_group<group, count>(all.schedules);
  }
  static double rate(const typename Choice::Options& all, double share, std::uint64_t step) {
    double largest = 0;
    [&]<std::size_t... group>(std::index_sequence<group...>) {
      const auto look = [&](double own_rate, const regimen::detail::OwnSchedule& own) {
        const double rate = all.learning_rate * (own ? own->share(step) : share) * own_rate;
        if (!(rate <= largest)) largest = rate;  // a NaN, too
      };
      (look(options<group>(all).learning_rate, schedule<group>(all)), ...);
    }(std::make_index_sequence<count>{});
    return largest;
  }
  static bool has_schedules(const typename Choice::Options& all) {
    return [&]<std::size_t... group>(std::index_sequence<group...>) {
      return (bool(schedule<group>(all)) || ...);
    }(std::make_index_sequence<count>{});
  }
};

/// Whether some tensor of a bound model that trains is in the group.
template <class Bound, std::size_t group>
constexpr bool takes_tensors() {
  for (const walk::UnitRecord& unit : Bound::units(1))
    for (const walk::TensorPlace& tensor : unit.tensors)
      if (tensor.trains && tensor.group == group) return true;
  return false;
}

/// The rule of a group.
template <class UpdateRule, std::size_t group>
using rule_of = boost::mp11::mp_at_c<typename GroupsOf<UpdateRule>::Rules, group>;

/// The name of an array of state in the group's rule.
template <class UpdateRule>
const char* state_name_of(std::size_t group, std::size_t state) {
  return boost::mp11::mp_with_index<GroupsOf<UpdateRule>::count>(group, [state](auto index) -> const char* {
    using Rule = rule_of<UpdateRule, decltype(index)::value>;
    if constexpr (Rule::states > 0)
      if (state < Rule::states) return Rule::state_names[state];
    return "";
  });
}

inline constexpr std::size_t no_average = ~std::size_t{0};
/// Which array of a group's state is the average.
template <class UpdateRule>
constexpr std::size_t average_of(std::size_t group) {
  return boost::mp11::mp_with_index<GroupsOf<UpdateRule>::count>(group, [](auto index) -> std::size_t {
    using Rule = rule_of<UpdateRule, decltype(index)::value>;
    if constexpr (requires { Rule::average; }) return Rule::average;
    else return no_average;
  });
}
template <class UpdateRule>
inline constexpr bool keeps_averages = [] {
  bool any = false;
  for (std::size_t group = 0; group < GroupsOf<UpdateRule>::count; ++group)
    any = any || average_of<UpdateRule>(group) != no_average;
  return any;
}();

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
