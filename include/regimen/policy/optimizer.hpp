// regimen/policy/optimizer.hpp — the update rule.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

struct AdamW;  // regimen/optimizer/adamw.hpp, the default

namespace detail {
/// An update rule has hyper-parameters and says how many values of state a parameter has.
template <class T>
inline constexpr bool belongs_to<T, axis::optimizer> = requires {
  typename T::Options;
  T::states;
};
}  // namespace detail

/// Decides how gradients become updates. The rule is a stateless type, its hyper-parameters are options of the run.
///
///   choices   any update rule; ours stand in regimen/optimizer
///   default   Optimizer<AdamW>
///   refuses   what is no update rule: one has Options and a number of states
///   cost      the state of the rule, in Master: two values per parameter for Adam and AdamW
template <class Rule>
struct Optimizer final {
  using axis = regimen::axis::optimizer;
  using rule = Rule;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
