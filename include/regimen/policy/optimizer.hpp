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
template <class UpdateRule>
inline constexpr bool sees_whole_tensors = requires { requires UpdateRule::sees_whole_tensors; };
}  // namespace detail

/// Decides how gradients become updates. The rule is a stateless type, its hyper-parameters are options of the run.
///
///   choices   any update rule; ours stand in regimen/optimizer
///   default   Optimizer<AdamW>
///   refuses   what is no update rule: one has Options and a number of states. A rule that sees whole tensors, under a Shard that
///             keeps slices
///   cost      the state of the rule, in Master: two values per parameter for Adam and AdamW
///
/// A rule has Options, with a learning_rate; states, how many values a parameter has beside it, and a name for each in state_names;
/// Coefficients<S>(options, scalars); correction_first and correction_second(options, t). It may have check<Master>(options), which throws
/// Error for options outside their ranges.
/// A rule of elements has update(weight, gradient, state, coefficients, decays), for one element or a register of them. A rule that
/// looks at norms or matrices has `static constexpr bool sees_whole_tensors = true`, update_tensor(WholeTensor, coefficients), and
/// may have scratch(rows, columns), in elements of Master, and flops(rows, columns); it runs on one tensor after the other.
template <class UpdateRule>
struct Optimizer final {
  using axis = regimen::axis::optimizer;
  using rule = UpdateRule;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
