// regimen/optimizer/split.hpp — one update rule for some parameters, another for others.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/schedule.hpp>
#include <regimen/optimizer/range.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace regimen {

// ---- groups. The first group that takes a parameter updates it. Your own is a struct like these.

/// Weights of products.
template <class UpdateRule>
struct Matrices final {
  using rule = UpdateRule;
  template <class>
  static constexpr bool takes(const auto& parameter) {
    return parameter.role == decltype(parameter.role)::matrix;
  }
};
/// All parameters of every layer of this type. Of a table that several layers use, its Embedding is the layer.
template <class Layer, class UpdateRule>
struct OfLayer final {
  using rule = UpdateRule;
  template <class Owner>
  static constexpr bool takes(const auto&) {
    return std::is_same_v<Owner, Layer>;
  }
};
/// All other parameters; there may be none.
template <class UpdateRule>
struct Rest final {
  using rule = UpdateRule;
  template <class>
  static constexpr bool takes(const auto&) {
    return true;
  }
};

namespace detail {

template <class Group>
concept ParameterGroup = requires {
  typename Group::rule::Options;
  Group::rule::states;
};
template <class Group>
inline constexpr bool is_rest = false;
template <class UpdateRule>
inline constexpr bool is_rest<Rest<UpdateRule>> = true;
template <class... Groups>
constexpr bool are_groups() {
  if constexpr (sizeof...(Groups) < 2 || sizeof...(Groups) > 4) return false;
  else {
    std::size_t index = 0;
    return ((ParameterGroup<Groups> && is_rest<Groups> == (++index == sizeof...(Groups))) && ...);
  }
}

/// A group's own schedule, if it has one. No std::optional: its bytes without a value are junk, and options are copied
/// to kernels, whose bytes the emulated device searches.
class OwnSchedule final {
 public:
  constexpr OwnSchedule() = default;
  constexpr OwnSchedule(const Schedule& schedule) : schedule_(schedule), is_given_(true) {}
  constexpr explicit operator bool() const { return is_given_; }
  constexpr const Schedule& operator*() const { return schedule_; }
  constexpr const Schedule* operator->() const { return &schedule_; }

 private:
  Schedule schedule_{};
  bool is_given_ = false;
};

/// The schedules of groups that have their own, by the groups' names.
template <std::size_t count>
struct SchedulesOfGroups;
template <>
struct SchedulesOfGroups<2> {
  OwnSchedule first{}, rest{};
};
template <>
struct SchedulesOfGroups<3> {
  OwnSchedule first{}, second{}, rest{};
};
template <>
struct SchedulesOfGroups<4> {
  OwnSchedule first{}, second{}, third{}, rest{};
};

/// Options by names: the options of each group's rule.
template <class... Options>
struct OptionsOfGroups;
template <class First, class Last>
struct OptionsOfGroups<First, Last> {
  First first{};
  Last rest{};
  double learning_rate = 1;
  [[no_unique_address]] Misnamed<misnamed::learning_rate, 1> lr{};  // a group has 0
  SchedulesOfGroups<2> schedules{};
};
template <class First, class Second, class Last>
struct OptionsOfGroups<First, Second, Last> {
  First first{};
  Second second{};
  Last rest{};
  double learning_rate = 1;
  [[no_unique_address]] Misnamed<misnamed::learning_rate, 1> lr{};  // a group has 0
  SchedulesOfGroups<3> schedules{};
};
template <class First, class Second, class Third, class Last>
struct OptionsOfGroups<First, Second, Third, Last> {
  First first{};
  Second second{};
  Third third{};
  Last rest{};
  double learning_rate = 1;
  [[no_unique_address]] Misnamed<misnamed::learning_rate, 1> lr{};  // a group has 0
  SchedulesOfGroups<4> schedules{};
};
/// The member of a group, of options or of schedules.   count   of groups
template <std::size_t group, std::size_t count>
constexpr const auto& of_group(const auto& all) {
  if constexpr (group == 0) return all.first;
  else if constexpr (group + 1 == count) return all.rest;
  else if constexpr (group == 1) return all.second;
  else return all.third;
}
inline constexpr const char* names_of_groups[] = {"first", "second", "third", "rest"};

}  // namespace detail

/// An update rule for each group of parameters, with its own options, state and learning rate:
///
///   Trainer<Gpt, Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>>
///       trainer{{.optimizer = {.first = {.learning_rate = 2e-3}, .rest = {.weight_decay = 0}}}};
///
///   groups   one to three, and Rest<...>: Matrices<Rule>, OfLayer<Layer, Rule>, or your own: a struct with `rule`, and
///            `takes<Layer>(parameter)`, which sees the layer that owns a parameter, and its role, shape and name.
///            A parameter belongs to the first group that takes it; a group without parameters is refused
///   Options  first, second, third, rest: the options of the groups' rules. learning_rate, by default 1, multiplies the
///            rates of all groups: a step's rate in a group is the group's own · learning_rate · the schedule's share.
///            StepResult::learning_rate is the product of the last two. schedules: a group with a schedule here follows
///            it in place of the Trainer's:
///            {.optimizer = {.schedules = {.rest = Schedule::constant()}}, .schedule = Schedule::warmup_cosine(100, 5000)}
///   decay    each group's weight_decay reaches the group's parameters that the Optimizer chooses, by default weights
///            of products: with Optimizer<Split<Matrices<Muon>, Rest<AdamW>>, DecayAll> it reaches all of them
///   memory   every parameter has as many arrays of state as the rule with the most arrays; files have only the arrays
///            of its own rule
///   cost     one operation for each group of elementwise rules in a unit, instead of one in all; and a small operation
///            for each group in each step
template <class... Groups>
struct Split final {  // of something else than groups, which a rule refuses
  struct Options {
    double learning_rate = 1;
  };
  static constexpr std::size_t states = 0;
};
template <class... Groups>
  requires(detail::are_groups<Groups...>())
struct Split<Groups...> final {
  using Options = detail::OptionsOfGroups<typename Groups::rule::Options...>;
  static constexpr std::size_t count = sizeof...(Groups);
  static constexpr std::size_t states = [] {
    std::size_t most = 0;
    ((most = Groups::rule::states > most ? Groups::rule::states : most), ...);
    return most;
  }();

  /// Throws Error when an option lies outside its range.
  template <class Master>
  static void check(const Options& options) {
    check_groups<Master, 0, Groups...>(options);
  }

  // Each group has its own (op::ScalarsOfGroup).
  REGIMEN_HD static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_HD static double correction_second(const Options&, std::uint64_t) { return 1; }

  /// The group of a parameter of Layer, and how many states its rule has.
  template <class Layer>
  static constexpr std::size_t group_of(const auto& parameter) {
    std::size_t group = 0;
    static_cast<void>(((Groups::template takes<Layer>(parameter) || (++group, false)) || ...));
    return group;
  }
  static constexpr std::size_t states_of(std::size_t group) {
    const std::size_t each[] = {Groups::rule::states...};
    return each[group];
  }

 private:
  template <class Master, std::size_t group, class Group, class... Others>
  static void check_groups(const Options& options) {
    const auto& own = detail::of_group<group, count>(options);
    const std::string name = detail::names_of_groups[sizeof...(Others) == 0 ? 3 : group];
    detail::at_least_zero("optimizer." + name + ".learning_rate", own.learning_rate);
    if (const auto& schedule = detail::of_group<group, count>(options.schedules))
      detail::in_range("optimizer.schedules." + name, *schedule);
    if constexpr (requires { Group::rule::template check<Master>(own); }) Group::rule::template check<Master>(own);
    if constexpr (sizeof...(Others) > 0) check_groups<Master, group + 1, Others...>(options);
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
