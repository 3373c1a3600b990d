// regimen/policy/optimizer.hpp — the update rule.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

struct AdamW;          // regimen/optimizer/adamw.hpp, the default
struct DecayProducts;  // regimen/optimizer/decay.hpp, the default

namespace detail {
/// An update rule declares its hyper-parameters, and the number of state values of a parameter.
template <class T>
inline constexpr bool belongs_to<T, axis::optimizer> = requires {
  typename T::Options;
  T::states;
};
template <class UpdateRule>
inline constexpr bool sees_whole_tensors = requires { requires UpdateRule::sees_whole_tensors; };
}  // namespace detail

/// Decides how gradients become updates. The update rule is a stateless type; its hyper-parameters are run-time
/// options.
///
///   choices   an update rule of regimen/optimizer, or your own; Split<...>: one rule for each group of parameters
///             (optimizer/split.hpp). A second option chooses the parameters that weight_decay reaches: DecayProducts,
///             DecayProductsAndTables, DecayAll, or your own (optimizer/decay.hpp)
///   default   Optimizer<AdamW, DecayProducts>
///   refuses   a type that is no update rule (it lacks Options or states); a second option that does not choose
///             parameters; when the Trainer is made, a weight_decay that reaches no parameter
///   cost      the state of the rule, in Master: two values per parameter for Adam, AdamW and Lamb.
///             docs/update_rules.md has the cost of a rule of whole tensors under a Shard that keeps slices
///   effect    programs/facts.hpp (optimizer), programs/unit_update.hpp (UpdateRule)
///
/// Every update rule has
///   Options               the hyper-parameters, with a learning_rate
///   states, state_names   the number of state values of a parameter, and their names
///   Coefficients<S>(options, scalars), correction_first(options, t), correction_second(options, t)
///   check<Master>(options)   optional: throws Error for options outside their ranges
///   list(options, f)         optional: calls f(name, value) for each option except the learning rate, for run.txt
/// An elementwise rule has update(weight, gradient, state, coefficients, decays), for one element or a register of
/// elements. A rule that needs norms or matrices has `static constexpr bool sees_whole_tensors = true`, gets one tensor
/// after the other, and has one of these (core/whole_tensor.hpp, docs/update_rules.md):
///   update_tensor(walk, TensorViews, options)     runs operations, on every device; needs no Coefficients; may have
///                                                 scratch(rows, columns), an array of numbers of elements, and
///                                                 `numbers`. It writes weights and state only if scalars.apply
///   update_tensor(WholeTensor, coefficients)      computes on spans, only on the host; may have scratch(rows,
///                                                 columns), in elements of Master, and flops(rows, columns)
///
/// devices   Device<Cuda> calls update, both corrections and the constructor of Coefficients in kernels: mark all four
///           REGIMEN_HD (core/hd.hpp), and the functions of op::Calculate. nvcc's error for an unmarked function names
///           an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD, or a_function_on_a_device_is_marked_REGIMEN_HD
template <class UpdateRule, class Decays = DecayProducts>
struct Optimizer final {
  using axis = regimen::axis::optimizer;
  using rule = UpdateRule;
  using decay = Decays;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
