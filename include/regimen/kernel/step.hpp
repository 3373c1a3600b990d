// regimen/kernel/step.hpp — the sums and decisions of a step: losses, correct rows, anomalies, what ranks share, and
// Finish.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/step_decisions.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/rows.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::kernel {

// ---- what kernels call of a user's code

#if defined(__CUDACC__)
#pragma nv_diagnostic push
#pragma nv_diag_error 20011, 20014
#endif
/// A function that lacks REGIMEN_HD exists on the host alone. No static assertion sees this; nvcc says
///   calling a __host__ function("Mine::update") from a __host__ __device__ function("...
///   an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD<Mine>::update") is not allowed
/// by default as a warning, and would go on to a program that does anything. Here it is an error.
template <class UpdateRule>
struct an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD final {
  using Options = typename UpdateRule::Options;

  template <class M>
  REGIMEN_HD static auto coefficients(const Options& options, const Scalars& scalars) {
    return typename UpdateRule::template Coefficients<M>(options, scalars);
  }
  template <class M, class State, class Coefficients>
  REGIMEN_HD static void update(M& weight, M gradient, State& state, const Coefficients& coefficients, bool decays) {
    UpdateRule::update(weight, gradient, state, coefficients, decays);
  }
  REGIMEN_HD static double correction_first(const Options& options, std::uint64_t t) {
    return UpdateRule::correction_first(options, t);
  }
  REGIMEN_HD static double correction_second(const Options& options, std::uint64_t t) {
    return UpdateRule::correction_second(options, t);
  }
};
/// For the function that op::Calculate calls: without REGIMEN_HD it is refused as an update rule's functions are.
template <class Function>
struct a_function_on_a_device_is_marked_REGIMEN_HD final {
  REGIMEN_HD static void call(const Function& function, double* numbers, const Scalars& scalars) {
    function(numbers, scalars);
  }
};
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif

// ---- one thread: the CPU engine's code

REGIMEN_HD inline void decide(const op::Begin& o, const Memory& at) { step_decisions::begin(o, *at(o.scalars)); }
REGIMEN_HD inline void decide(const op::BeginLosses& o, const Memory& at) {
  step_decisions::begin_losses(o, *at(o.scalars), at(o.losses));
}
REGIMEN_HD inline void decide(const op::SumLosses& o, const Memory& at) {
  step_decisions::sum_losses(o, *at(o.scalars), at(o.losses));
}
REGIMEN_HD inline void decide(const op::ShareSums& o, const Memory& at) {
  step_decisions::share(*at(o.scalars), *at(o.sums));
}
REGIMEN_HD inline void decide(const op::CombineSums& o, const Memory& at) {
  step_decisions::combine(o, *at(o.scalars), at(o.sums));
}
REGIMEN_HD_UNCHECKED
template <class UpdateRule>
REGIMEN_HD void decide(const op::Finish<UpdateRule>& o, const Memory& at) {
  step_decisions::finish<an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD<UpdateRule>>(o, *at(o.scalars));
}
REGIMEN_HD_UNCHECKED
template <class UpdateRule>
REGIMEN_HD void decide(const op::ScalarsOfGroup<UpdateRule>& o, const Memory& at) {
  step_decisions::of_group<an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD<UpdateRule>>(o, *at(o.scalars),
                                                                                                  *at(o.to));
}
REGIMEN_HD_UNCHECKED
template <class Function>
REGIMEN_HD void decide(const op::Calculate<Function>& o, const Memory& at) {
  a_function_on_a_device_is_marked_REGIMEN_HD<Function>::call(o.function, at(o.numbers), *at(o.scalars));
}

// ---- the first element that is not finite

/// The place of the first element of x that is not finite, NaN or an infinity: a block takes a chunk and keeps the
/// smallest place in it, or count if there is none; the second launch takes the smallest of the chunks'. So it is the
/// first element whatever the order of blocks. Of an x with rows farther apart than its columns, elements are read one
/// by one.
///
/// cost   reads x once; nothing once an anomaly was found
template <class T>
struct Kernel<op::CheckFinite<T>, 0> final {
  static constexpr unsigned passes = 2, threads = detail::flat_threads, width = pack_of<T>;
  static constexpr std::size_t shared_bytes = combined_bytes<std::uint64_t>, chunk_size = 16384;
  op::CheckFinite<T> o;
  Memory at;

  REGIMEN_HD static constexpr std::size_t chunks(std::size_t count) { return (count + chunk_size - 1) / chunk_size; }
  static constexpr std::size_t scratch(const op::CheckFinite<T>& operation) {
    return chunks(operation.count) * sizeof(std::uint64_t);
  }
  constexpr unsigned blocks() const { return o.count == 0 ? 0 : blocks_for(chunks(o.count), 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    if (at(o.scalars)->anomaly.found) return;
    const T* const x = at(o.x);
    const bool aligned = o.columns == o.leading && are_aligned(x);
    for (std::size_t chunk = block.index(); chunk < chunks(o.count); chunk += block.blocks()) {
      const std::size_t begin = chunk * chunk_size, end = begin + chunk_size < o.count ? begin + chunk_size : o.count;
      const std::size_t packed = aligned ? end / width * width : begin;  // chunks begin with a pack
      std::uint64_t first = o.count;
      const auto keep = [&](T value, std::size_t i) {
        if (i < first && !is_finite(value)) first = i;
      };
      for (std::size_t i = begin + block.thread() * width; i < packed; i += std::size_t{block.threads()} * width) {
        const auto values = detail::read<width>(x + i);
        for (unsigned k = 0; k < width; ++k) keep(values.at[k], i + k);
      }
      for (std::size_t i = packed + block.thread(); i < end; i += block.threads()) keep(x[o.place(i)], i);
      first = combined<Smallest>(block, first);
      if (block.thread() == 0) at.template scratch_of<std::uint64_t>()[chunk] = first;
    }
  }

  struct Smallest final {
    REGIMEN_HD constexpr std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a < b ? a : b; }
  };
};

/// By one block: the smallest place of the chunks'. Thread 0 writes the anomaly, unless there is an earlier one.
template <class T>
struct Kernel<op::CheckFinite<T>, 1> final {
  using First = Kernel<op::CheckFinite<T>, 0>;
  static constexpr unsigned threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<std::uint64_t>;
  op::CheckFinite<T> o;
  Memory at;

  constexpr unsigned blocks() const { return o.count == 0 ? 0 : 1; }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    op::Anomaly& anomaly = at(o.scalars)->anomaly;
    if (anomaly.found) return;  // thread 0 writes it behind the barriers of `combined`
    const std::uint64_t* const of_chunks = at.template scratch_of<std::uint64_t>();
    std::uint64_t first = o.count;
    for (std::size_t i = block.thread(); i < First::chunks(o.count); i += block.threads())
      first = typename First::Smallest{}(first, of_chunks[i]);
    first = combined<typename First::Smallest>(block, first);
    if (block.thread() != 0 || first == o.count) return;
    anomaly.path = o.path;
    anomaly.element = first;
    anomaly.found = true;
    anomaly.is_nan = is_nan(at(o.x)[o.place(first)]);
    anomaly.phase = o.phase;
  }
};

// ---- sums of rows and chunks

namespace detail {

/// Σ term(i), i < count, by one block: each thread adds every 1024th, then the threads' sums. Every thread gets it.
REGIMEN_HD_UNCHECKED
template <class Block, class Term>
REGIMEN_HD double sum_of(const Block& block, std::size_t count, const Term& term) {
  double own = 0;
  for (std::size_t i = block.thread(); i < count; i += block.threads()) own += static_cast<double>(term(i));
  return combined<Sum>(block, own);
}
/// For how much a row or an element of this weight counts.   weights   null: each has weight 1
REGIMEN_HD inline double count_of(const float* weights, std::size_t i) {
  return weights == nullptr ? 1 : op::count_of_weight(double(weights[i]));
}

}  // namespace detail

/// The second launch of an operation whose first one computes numbers of rows or chunks. By one block,
/// add_up(block, operation, memory) adds them to the scalars; where there are no rows, it adds zeros.
template <class Operation>
  requires requires(const Serial& block, const Operation& o, const Memory& at) { add_up(block, o, at); }
struct Kernel<Operation, 1> final {
  static constexpr unsigned threads = 1024;
  static constexpr std::size_t shared_bytes = combined_bytes<double>;
  Operation o;
  Memory at;

  static constexpr unsigned blocks() { return 1; }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    add_up(block, o, at);
  }
};

/// A block takes a row: its largest logit, whether one is NaN, and whether the target's is the first that is as large.
/// Then the rows are counted, which is exact.
///
/// cost   reads the logits once, 16 bytes at a time, the least, and a row a second time, from the caches, up to its
///        target where that is the largest
template <class S>
struct Kernel<op::CountCorrect<S>, 0> final {
  static constexpr unsigned passes = 2, threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<double>;
  op::CountCorrect<S> o;
  Memory at;

  static constexpr std::size_t scratch(const op::CountCorrect<S>& operation) {
    return operation.rows * sizeof(std::uint32_t);
  }
  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const S* const logits = at(o.logits);
    const std::int32_t* const targets = at(o.target);
    std::uint32_t* const correct = at.template scratch_of<std::uint32_t>();
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      const S* const values = logits + row * o.row();
      const std::size_t target = static_cast<std::uint32_t>(targets[row]);  // ignore_index becomes a very large one
      bool is_right = target < o.columns;
      if (is_right) {
        S most = values[target];
        unsigned nans = 0;
        for_row(block, values, o.columns, [&]<unsigned n>(std::size_t i) {
          const auto x = detail::read<n>(values + i);
          for (unsigned k = 0; k < n; ++k) {
            most = x.at[k] > most ? x.at[k] : most;
            nans += is_nan(x.at[k]) ? 1u : 0u;
          }
        });
        most = combined<Largest>(block, most);
        nans = combined<Sum>(block, nans);
        is_right = nans == 0 && values[target] == most;
      }
      if (is_right) {
        unsigned earlier = 0;
        const S own = values[target];
        for_row(block, values, target, [&]<unsigned n>(std::size_t i) {
          const auto x = detail::read<n>(values + i);
          for (unsigned k = 0; k < n; ++k) earlier += x.at[k] == own ? 1u : 0u;
        });
        is_right = combined<Sum>(block, earlier) == 0;
      }
      if (block.thread() == 0) correct[row] = is_right ? 1 : 0;
    }
  }
};

REGIMEN_HD_UNCHECKED
template <class Block, class S>
REGIMEN_HD void add_up(const Block& block, const op::CountCorrect<S>& o, const Memory& at) {
  const std::uint32_t* const correct = at.template scratch_of<std::uint32_t>();
  const float* const weights = at.optional(o.weight);
  const double sum = detail::sum_of(
      block, o.rows, [&](std::size_t row) { return correct[row] != 0 ? detail::count_of(weights, row) : 0; });
  if (block.thread() == 0) at(o.scalars)->correct += sum;
}

/// Differences and their squares in fp64, the gradient rounded once: as the CPU engine. A block takes a chunk.
///
/// error   of the sum: 16 + 9 + chunks / 1024 + 10 roundings to fp64
/// cost    the output and the target are read once, the gradient is written once, 16 bytes at a time: the least
template <class Function, bool WithGradient, class S>
struct Kernel<op::PointwiseLoss<Function, WithGradient, S>, 0> final {
  static constexpr unsigned passes = 2, threads = 256, width = pack_of<S>;
  static constexpr std::size_t shared_bytes = combined_bytes<double>, chunk_size = 4096;
  op::PointwiseLoss<Function, WithGradient, S> o;
  Memory at;

  REGIMEN_HD static constexpr std::size_t chunks(std::size_t count) { return (count + chunk_size - 1) / chunk_size; }
  static constexpr std::size_t scratch(const op::PointwiseLoss<Function, WithGradient, S>& operation) {
    return chunks(operation.count) * sizeof(double) * (all_count(operation) ? 1 : 2);
  }  // chunks' losses; behind them how many elements count, or their weights, where not all do
  REGIMEN_HD static constexpr bool all_count(const op::PointwiseLoss<Function, WithGradient, S>& operation) {
    return !pointwise::Counts<Function> && operation.weight.is_absent();
  }
  constexpr unsigned blocks() const { return o.count == 0 ? 0 : blocks_for(chunks(o.count), 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const output = at(o.output);
    const S* const target = at(o.target);
    const bool aligned = are_aligned(output, target);
    const float* const weights = at.optional(o.weight);
    double* const losses = at.template scratch_of<double>();
    const double factor = o.scale * at(o.scalars)->loss_scale;
    for (std::size_t chunk = block.index(); chunk < chunks(o.count); chunk += block.blocks()) {
      const std::size_t end = (chunk + 1) * chunk_size < o.count ? (chunk + 1) * chunk_size : o.count;
      double loss = 0;
      double count = 0;
      const auto add = [&]<unsigned n>(std::size_t i) {
        auto values = detail::read<n>(output + i);
        const auto wanted = detail::read<n>(target + i);
        for (unsigned k = 0; k < n; ++k) {
          const double x = static_cast<double>(values.at[k]), t = static_cast<double>(wanted.at[k]);
          const double weight = weights == nullptr ? 1 : static_cast<double>(weights[i + k]);
          const bool counts = weight != 0;
          if constexpr (WithGradient)
            values.at[k] = static_cast<S>(counts ? Function::derivative(x, t) * factor * weight : 0.0);
          loss += counts ? Function::value(x, t) * weight : 0.0;
          if constexpr (pointwise::Counts<Function>) count += Function::counts(t) ? op::count_of_weight(weight) : 0.0;
          else count += op::count_of_weight(weight);
        }
        if constexpr (WithGradient) detail::write(values, output + i);
      };
      for_runs<width>(block, chunk * chunk_size, end, aligned, add);
      loss = combined<Sum>(block, loss);
      if (block.thread() == 0) losses[chunk] = loss;
      if (!all_count(o)) {
        count = combined<Sum>(block, count);
        if (block.thread() == 0) losses[chunks(o.count) + chunk] = count;
      }
    }
  }
};

REGIMEN_HD_UNCHECKED
template <class Block, class Function, bool WithGradient, class S>
REGIMEN_HD void add_up(const Block& block, const op::PointwiseLoss<Function, WithGradient, S>& o, const Memory& at) {
  using First = Kernel<op::PointwiseLoss<Function, WithGradient, S>, 0>;
  const double* const losses = at.template scratch_of<double>();
  const std::size_t chunks = First::chunks(o.count);
  const double loss = detail::sum_of(block, chunks, [&](std::size_t chunk) { return losses[chunk]; });
  double count = static_cast<double>(o.count);
  if (!First::all_count(o))
    count = detail::sum_of(block, chunks, [&](std::size_t chunk) { return losses[chunks + chunk]; });
  if (block.thread() != 0) return;
  at(o.scalars)->loss_sum += loss;
  at(o.scalars)->count += count;
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
