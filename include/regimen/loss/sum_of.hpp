// regimen/loss/sum_of.hpp — the weighted sum of the losses of several outputs.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/bundled.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/policy.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen {

/// In SumOf, a loss times a Ratio above 0: `Weighted<MeanSquaredError, Ratio<1, 2>>`.
template <class Function, class Weight>
struct Weighted final {};

namespace detail {

template <class Function_>
struct weighed {
  using Function = Function_;
  static constexpr double weight = 1;
};
template <class Function_, class Weight>
struct weighed<Weighted<Function_, Weight>> {
  using Function = Function_;
  static constexpr double weight = Weight::value;
};

/// Output i of an output that Fork<Outputs, ...> has joined.
template <std::size_t i, class Output>
using part_of_output = Value<typename Output::Element, typename Output::Shape::template at<i>>;

/// The targets of a sample: the targets of all losses.
template <class Output, class Indices, class... Losses>
struct joined_labels {
  using type = Value<int, Shape<1>>;  // of no output that it reads
};
template <class Output, std::size_t... i, class... Losses>
  requires(is_joined<typename Output::Shape>)
struct joined_labels<Output, std::index_sequence<i...>, Losses...> {
  using type =
      Value<Bundled<typename weighed<Losses>::Function::template Labels<part_of_output<i, Output>>...>, Shape<1>>;
};

template <class Function>
inline constexpr bool stays_exact_on_ranks = [] {
  if constexpr (requires { Function::gathers_samples; }) return Function::gathers_samples;
  else return !Function::couples_samples;
}();

template <class Function, class Output, class Engine>
concept CountsCorrect = requires(Engine& walk, std::size_t at, View<Scalars> scalars) {
  Function::template count_correct<Output>(walk, at, at, scalars);
};

}  // namespace detail

/// Σ_i w_i · (loss i of output i and target i), of a model whose last layer is Fork<Outputs, ...>
///
///   Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<1, 2>>>>
///
///   x       the outputs of the branches of Outputs, one for each loss; overwritten by their gradients
///   target  a Bundled of the losses' targets: labels[sample].get<i>()
///
/// Each loss is a mean: with N samples in the global batch and R_i targets a sample, its sum is divided by N · R_i:
///
///   total = 1/N Σ_samples Σ_i w_i / R_i · Σ_rows loss_i(row)
///
/// The formula is exact for micro-batches, ranks and a short batch. A target of ignore_index adds nothing to loss and
/// gradient, and counts in R_i: SumOf does not divide by the number of valid targets, as CrossEntropy by itself does.
/// StepResult::targets and Evaluation::targets are N. The accuracy is the accuracy of the first loss that has one: its
/// correct rows divided by N · R_i.
///
///   Losses   at most 8: a loss, or Weighted<loss, Ratio>; weights are above 0, by default 1
///
/// refuses  a model with another number of outputs; a loss that does not read its output; a weight that is not above 0
/// cost     a copy of each loss's targets, and two small operations
template <class... Losses>
struct SumOf final {
 private:
  template <std::size_t i, class Loss_, class Output_>
  struct Place {
    static constexpr std::size_t index = i;
    using Output = Output_;
    using Loss = typename detail::weighed<Loss_>::Function;
    using Labels = typename Loss::template Labels<Output>;
    static constexpr double rows = double(Loss::template rows<Output>), weight = detail::weighed<Loss_>::weight;
  };
  /// body(Place) for each loss.
  template <class Output>
  static constexpr void for_each(auto&& body) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (body(Place<i, Losses, detail::part_of_output<i, Output>>{}), ...);
    }(std::index_sequence_for<Losses...>{});
  }
  // Constraints and constants use no lambda: nvcc 13 aborts at one.
  /// The first loss that counts correct rows, or `count`.
  template <class Output, class Engine, std::size_t... i>
  static constexpr std::size_t first_that_counts(std::index_sequence<i...>) {
    std::size_t first = count;
    ((first = first == count && detail::CountsCorrect<typename detail::weighed<Losses>::Function,
                                                      detail::part_of_output<i, Output>, Engine>
                  ? i
                  : first),
     ...);
    return first;
  }
  template <class Output, class Engine>
  static constexpr std::size_t counting() {
    return first_that_counts<Output, Engine>(std::index_sequence_for<Losses...>{});
  }
  template <class Output, std::size_t... i>
  static constexpr std::array<std::size_t, sizeof...(Losses)> bounds_of_labels(std::index_sequence<i...>) {
    return {detail::labels_below<typename detail::weighed<Losses>::Function, detail::part_of_output<i, Output>>()...};
  }
  /// Runs body(Place, where its output begins, its targets, its sums) for each loss; then adds up the sums.
  template <class Output>
  static constexpr void each_by_itself(auto& walk, std::size_t output, std::size_t target, op::SumLosses sum,
                                       auto&& body) {
    sum.count = count;
    sum.losses = {walk.arena.take(TensorArena::align(count * sizeof(Scalars)), MemoryKind::scratch, walk.path)};
    walk.run(op::BeginLosses{sum.scalars, sum.losses, count});
    for_each<Output>([&]<class At>(At at) {
      const std::size_t labels =
          walk.arena.take(TensorArena::align(walk.capacity * At::Labels::bytes), MemoryKind::scratch, walk.path);
      walk.run(detail::copy_of_value<At::index, typename Labels<Output>::Element>(walk.batch, target, labels));
      body(at, output, labels, sum.losses + At::index);
      walk.arena.give(labels);
      output += walk.batch * At::Output::size * sizeof(typename Output::Element);
    });
    walk.run(sum);
    walk.arena.give(sum.losses.offset);
  }

 public:
  using option_of = axis::loss;
  static constexpr std::size_t count = sizeof...(Losses);
  static_assert(count <= op::SumLosses::limit,
                "regimen: SumOf has at most 8 losses; Concat outputs of one kind of loss");
  static constexpr bool couples_samples = (detail::weighed<Losses>::Function::couples_samples || ...);
  /// Whether each loss that couples samples gathers all ranks' samples.
  static constexpr bool gathers_samples =
      couples_samples && (detail::stays_exact_on_ranks<typename detail::weighed<Losses>::Function> && ...);
  template <class Output>
  static constexpr std::array<std::size_t, count> labels_below =
      bounds_of_labels<Output>(std::index_sequence_for<Losses...>{});

  template <class Output>
  using Labels = typename detail::joined_labels<Output, std::index_sequence_for<Losses...>, Losses...>::type;
  template <class Output>
  static constexpr std::size_t rows = 1;  // samples are what the sum is divided by

  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t target, View<Scalars> scalars, double scale) {
    op::SumLosses sum{.scalars = scalars, .samples = double(walk.batch)};
    for_each<Output>([&]<class At>(At) { sum.weights[At::index] = At::weight / At::rows; });
    each_by_itself<Output>(walk, output, target, sum, [&]<class At>(At, std::size_t x, std::size_t labels, auto own) {
      At::Loss::template run<gradient, typename At::Output>(walk, x, labels, own, scale * sum.weights[At::index]);
    });
  }
  template <class Output, class Engine>
    requires(counting<Output, Engine>() < sizeof...(Losses))
  static constexpr void count_correct(Engine& walk, std::size_t output, std::size_t target, View<Scalars> scalars) {
    constexpr std::size_t first = counting<Output, Engine>();
    op::SumLosses sum{.scalars = scalars};
    for_each<Output>([&]<class At>(At) { sum.correct = At::index == first ? 1 / At::rows : sum.correct; });
    each_by_itself<Output>(walk, output, target, sum, [&]<class At>(At, std::size_t x, std::size_t labels, auto own) {
      if constexpr (At::index == first) At::Loss::template count_correct<typename At::Output>(walk, x, labels, own);
    });
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
