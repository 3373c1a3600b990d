// regimen/policy/loss.hpp — the loss that training minimises.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

struct CrossEntropy;  // regimen/loss/cross_entropy.hpp, the default
template <class... Losses>
struct SumOf;  // regimen/loss/sum_of.hpp
template <class Function, class Weight>
struct Weighted;
template <class Function>
struct Masked;  // regimen/loss/masked.hpp
template <class Function>
struct SampleWeighted;  // regimen/loss/sample_weighted.hpp

/// The sum over the valid targets of the global batch, instead of their mean. Only directly inside Loss<...>.
///
///   Loss<Summed<CrossEntropy>>     PyTorch's reduction="sum"
///
/// The loss and its gradient are sums over all micro-batches and ranks, so they grow with the batch. Choose the
/// learning rate and Clip<Norm<...>> for this sum; StepResult::loss and gradient_norm belong to it, and
/// Evaluation::loss is the sum over the whole source. Accuracies stay shares. A step without a valid target changes
/// nothing. Summed<SumOf<...>> is the sum over samples of the numbers that SumOf averages.
///
/// refuses  a place inside SumOf or Masked; in SumOf write Weighted<...>
template <class Function>
struct Summed final {};

namespace detail {
/// A loss declares the labels that it compares an output with.
template <class T>
inline constexpr bool belongs_to<T, axis::loss> = requires { typename T::template Labels<Value<fp32, Shape<2>>>; };
template <class Function>
inline constexpr bool belongs_to<Summed<Function>, axis::loss> = true;

/// Whether a loss reads outputs whose rows lie Output::leading elements apart. Not a member, which a loss that derives
/// from another would inherit.
template <class Function>
inline constexpr bool takes_padded_rows = false;

/// What a loss declares that compares each number of the output with a number of the target.
struct LossOfNumbers {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<typename Output::Element, typename Output::Shape>;
};

/// In place of a bound: the numbers are weights, which are finite.
inline constexpr std::size_t are_weights = ~std::size_t{0};
/// The bound of integer labels; of a bundle of several values the bound of each.
template <class Function, class Output>
constexpr auto labels_below() {
  if constexpr (requires { Function::template labels_below<Output>; }) return Function::template labels_below<Output>;
  else return Output::columns;
}
}  // namespace detail

/// Decides the loss. A loss computes a sum over the valid targets, and their number.
///
///   choices   a loss of regimen/loss, or your own; SumOf<...> for a model of several outputs; Masked<...>: targets may
///             be absent; SampleWeighted<...>: each target has a weight; Summed<...>: the sum instead of the mean
///   default   Loss<CrossEntropy>
///   refuses   a type that is no loss; a loss that cannot read the model's output; a loss that couples the samples of a
///             batch, if Accumulate, SimulateWorld or ranks cut the batch
///   effect    programs/recipe.hpp (loss), programs/step.hpp (Loss)
///
/// A loss has
///   Labels<Output>    the labels that it compares an output with
///   rows<Output>      how many labels a sample has
///   run<gradient, Output>(walk, output, target, scalars, scale)
///   couples_samples   static constexpr bool: whether the loss of a sample depends on the other samples
/// and may have
///   counts_as_it_runs      run<false> adds to scalars.correct in an evaluation; there is no count_correct
///   gathers_samples        the loss couples samples, and gathers the samples of all ranks: ranks do not cut its batch
///   labels_below<Output>   the bound of integer labels, if it is not the number of the output's columns
///   masked                 a type: this loss without the targets that are NaN
///   takes_weights          run and count_correct also take weights: see SampleWeighted
template <class Function>
struct Loss final {
  using axis = regimen::axis::loss;
  using function = Function;
  static constexpr bool sums = false;
};
template <class Function>
struct Loss<Summed<Function>> final {
  using axis = regimen::axis::loss;
  using function = Function;
  static constexpr bool sums = true;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
