// regimen/policy/optimizer.hpp — the update rule.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

struct AdamW;  // regimen/optimizer/adamw.hpp, the default

namespace detail {
/// An update rule declares its hyper-parameters and how many values of state a parameter has.
template <class T>
inline constexpr bool belongs_to<T, axis::optimizer> = requires {
  typename T::Options;
  T::states;
};
template <class UpdateRule>
inline constexpr bool sees_whole_tensors = requires { requires UpdateRule::sees_whole_tensors; };
}  // namespace detail

/// Decides how gradients become updates. The update rule is a stateless type; its
/// hyper-parameters are run-time options.
///
///   choices   any update rule; regimen/optimizer has the library's
///   default   Optimizer<AdamW>
///   refuses   a type that is no update rule (it lacks Options or states); a rule that sees whole tensors, under a
///             Shard that keeps slices
///   cost      the state of the rule, in Master: two values per parameter for Adam and AdamW
///
/// Every update rule has
///   Options               the hyper-parameters, with a learning_rate
///   states, state_names   how many values of state a parameter has, and their names
///   Coefficients<S>(options, scalars), correction_first(options, t), correction_second(options, t)
///   check<Master>(options)   optional: throws Error for options outside their ranges
/// An elementwise rule has update(weight, gradient, state, coefficients, decays), for one element or a register of
/// them. A rule that needs norms or matrices has `static constexpr bool sees_whole_tensors = true` and
/// update_tensor(WholeTensor, coefficients), and may have scratch(rows, columns), in elements of Master, and
/// flops(rows, columns); it runs on one tensor after the other.
///
/// devices   a Device<Cuda> calls update, both corrections and the constructor of Coefficients in kernels: mark all four
///           REGIMEN_HD (core/hd.hpp). nvcc's error for one that is not marked names
///           an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD
template <class UpdateRule>
struct Optimizer final {
  using axis = regimen::axis::optimizer;
  using rule = UpdateRule;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
