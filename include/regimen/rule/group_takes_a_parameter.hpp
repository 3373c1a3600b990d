// regimen/rule/group_takes_a_parameter.hpp — a group of Split has parameters.
#pragma once

namespace regimen::rule {

/// The rule of a group without parameters would be ignored. Of a parameter the first group decides that takes it.
/// Takes: whether a parameter that trains is left for Group.   docs/errors/options.md#group_takes_a_parameter
template <class Group, bool Takes = false>
struct group_takes_a_parameter {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(holds, "regimen: a group of Split<...> gets no parameter that trains; name others, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
