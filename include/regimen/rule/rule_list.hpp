// regimen/rule/rule_list.hpp — lists of rules, and which of them are broken.
#pragma once

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

namespace regimen::rule {

namespace mp = boost::mp11;

/// The rules of something, in the order in which they are told.
template <class... Rules>
struct RuleList {
  using type = mp::mp_list<Rules...>;
};

template <class Rule>
using is_broken = mp::mp_bool<!Rule::holds>;
template <class Rules>
using broken_of = mp::mp_copy_if<Rules, is_broken>;

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
