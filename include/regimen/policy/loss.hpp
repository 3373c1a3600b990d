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

/// In Loss<...> alone: the sum over the valid targets of the global batch, not their mean.
///
///   Loss<Summed<CrossEntropy>>     PyTorch's reduction="sum"
///
/// Micro-batches and ranks add up: the loss and its gradient are those of the whole batch, and so grow with it. Learning
/// rate, Clip<Norm<...>> and a StepResult's loss and gradient_norm are of that sum; Evaluation::loss is the sum over all
/// that it read. Accuracies stay shares, and a step without a valid target still changes nothing. Of SumOf it is the sum
/// over samples of what SumOf averages.
///
/// refuses  to stand in SumOf or Masked, where a weight does the same
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

/// In place of a bound, of numbers: they are weights, which are finite.
inline constexpr std::size_t are_weights = ~std::size_t{0};
/// Integer labels are below; of several values in a bundle those of each.
template <class Function, class Output>
constexpr auto labels_below() {
  if constexpr (requires { Function::template labels_below<Output>; }) return Function::template labels_below<Output>;
  else return Output::columns;
}
}  // namespace detail

/// Decides the loss: a sum over the valid targets and their count.
///
///   choices   any loss; regimen/loss has the library's; SumOf<...> of them for a model of several outputs; Masked<...>
///             of one, whose targets then may be absent; SampleWeighted<...> of one, whose targets have weights;
///             Summed<...> of any of these
///   default   Loss<CrossEntropy>
///   refuses   a type that is no loss; a loss that cannot read the model's output; a loss that couples the samples of a
///             batch, where Accumulate, SimulateWorld or ranks would cut the batch
///   effect    program/recipe.hpp (loss), program/step.hpp (Loss)
///
/// A loss has
///   Labels<Output>    the labels that it compares an output with
///   rows<Output>      how many labels a sample has
///   run<gradient, Output>(engine, output, target, scalars, scale)
///   couples_samples   static constexpr bool: whether the loss of a sample depends on the other samples
/// and may have
///   counts_as_it_runs      evaluation adds to scalars.correct in run<false>, not in count_correct
///   gathers_samples        it couples them, and gathers those of all ranks: then ranks do not cut its batch
///   labels_below<Output>   integer labels are below, where that is not the number of the output's columns
///   masked                 a type: the same loss, which leaves out targets that are NaN
///   takes_weights          run and count_correct take weights, too: see SampleWeighted
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
