// regimen/engine/cpu/loss.hpp — losses, with their gradients in the same pass.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen::cpu {
namespace detail {

/// Weights of rows or elements; null: all are 1.
struct WeightsOf {
  const float* at;
  WeightsOf(View<float> view, const Memory& memory) : at(view.is_absent() ? nullptr : memory(view)) {}
  double operator[](std::size_t i) const { return at == nullptr ? 1 : static_cast<double>(at[i]); }
};

constexpr std::size_t partials_for(std::size_t things, std::size_t elements) {
  std::size_t chunks = chunks_of(elements);
  if (chunks > things) chunks = things;
  return chunks > most_partials ? most_partials : chunks;
}

/// The rows of logits of a loss. Training and evaluation share what is done with them; the former `writes` gradients.
template <class S>
struct LossRows {
  S* logits;
  std::size_t rows, columns, leading;
  S factor;  // of gradients
  WeightsOf weights;
  bool writes;

  LossRows(const auto& o, const Memory& at, bool with_gradient)
      : logits(at(o.logits)),
        rows(o.rows),
        columns(o.columns),
        leading(o.row()),
        factor(static_cast<S>(o.scale * at(o.scalars)->loss_scale)),
        weights(o.weight, at),
        writes(with_gradient) {}

  /// Adds up what body(row, loss, count) adds, in a fixed order.
  void sum(Scalars& scalars, const auto& body) const {
    double losses[most_partials] = {}, counts[most_partials] = {};
    const std::size_t chunks = partials_for(rows, rows * columns);
    parallel_for(chunks, [&](std::size_t chunk) {
      double loss = 0, count = 0;
      const std::size_t end = part_begin(rows, chunks, chunk + 1);
      for (std::size_t row = part_begin(rows, chunks, chunk); row < end; ++row) body(row, loss, count);
      losses[chunk] = loss;
      counts[chunk] = count;
    });
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      scalars.loss_sum += losses[chunk];
      scalars.count += counts[chunk];
    }
  }
  /// The gradients of a row that has no loss.
  void fill(S* row, S value) const {
    if (writes) for_each_vector<S>(0, columns, [&](std::size_t i, auto n) { store(Vector<S>(value), row + i, n); });
  }
};

template <class S>
S largest_of(const S* from, std::size_t count) {
  Vector<S> most = -std::numeric_limits<S>::infinity();
  std::size_t i = 0;
  for (; i + lanes<S> <= count; i += lanes<S>) most = max(most, load<S>(from + i));
  S largest = maximum(most);
  for (; i < count; ++i) largest = from[i] > largest ? from[i] : largest;
  return largest;
}

/// Loss of one row; its gradient over the logits, if `writes`.
template <class S>
double cross_entropy(S* logits, std::size_t columns, std::size_t target, double smoothing, S factor, bool writes) {
  using V = Vector<S>;
  const S most = largest_of(logits, columns), at_target = logits[target] - most;
  S shifted = S(0);  // Σ (logit − most), for the smoothed part of the target
  if (smoothing != 0)
    shifted = sum_of<S>(columns, [&](std::size_t i, auto n) { return zero_tail(load<S>(logits + i, n) - most, n); });
  const S total = sum_of<S>(columns, [&](std::size_t i, auto n) {
    const V e = exp(load<S>(logits + i, n) - most);
    if (writes) store(e, logits + i, n);
    return zero_tail(e, n);
  });
  const double spread = smoothing / static_cast<double>(columns);
  const double loss = std::log(static_cast<double>(total)) - (1 - smoothing) * static_cast<double>(at_target) -
                      spread * static_cast<double>(shifted);
  if (writes) {
    const V scale = factor / total, everywhere = S(spread) * factor;
    for_each_vector<S>(
        0, columns, [&](std::size_t i, auto n) { store(load<S>(logits + i, n) * scale - everywhere, logits + i, n); });
    logits[target] -= S(1 - smoothing) * factor;
  }
  return loss;
}

template <class S>
void cross_entropy_of_rows(const LossRows<S>& all, const std::int32_t* targets, double smoothing, Scalars& scalars) {
  all.sum(scalars, [&](std::size_t row, double& loss, double& count) {
    S* const values = all.logits + row * all.leading;
    const std::size_t target = static_cast<std::uint32_t>(targets[row]);
    const double weight = all.weights[row];
    const bool ignored = targets[row] == ignore_index || weight == 0, valid = target < all.columns;
    if (!ignored) count += op::count_of_weight(weight);
    if (!ignored && valid) {
      loss += weight *
              cross_entropy(values, all.columns, target, smoothing, all.factor * static_cast<S>(weight), all.writes);
    } else {
      const S fill = ignored ? S(0) : std::numeric_limits<S>::quiet_NaN();
      loss += static_cast<double>(fill);
      all.fill(values, fill);
    }
  });
}

/// Loss of one row; its gradient over the logits, if `writes`.
template <class S>
double soft_cross_entropy(S* logits, const S* target, std::size_t columns, S factor, bool writes) {
  using V = Vector<S>;
  const S most = largest_of(logits, columns);
  const S mass = sum_of<S>(columns, [&](std::size_t i, auto n) { return load<S>(target + i, n); });
  const S product = sum_of<S>(columns, [&](std::size_t i, auto n) {
    const V p = load<S>(target + i, n);  // 0 beyond a short register
    return select(p == V(S(0)), V(S(0)), p * (load<S>(logits + i, n) - most));
  });
  const S total = sum_of<S>(columns, [&](std::size_t i, auto n) {
    const V e = exp(load<S>(logits + i, n) - most);
    if (writes) store(e, logits + i, n);
    return zero_tail(e, n);
  });
  if (writes) {
    const V scale = mass * factor / total;
    for_each_vector<S>(0, columns, [&](std::size_t i, auto n) {
      store(load<S>(logits + i, n) * scale - load<S>(target + i, n) * factor, logits + i, n);
    });
  }
  return static_cast<double>(mass) * std::log(static_cast<double>(total)) - static_cast<double>(product);
}

/// A row that begins with NaN has no loss, if `masked`.
template <class S>
void soft_cross_entropy_of_rows(const LossRows<S>& all, const S* targets, bool masked, Scalars& scalars) {
  all.sum(scalars, [&](std::size_t row, double& loss, double& count) {
    S* const values = all.logits + row * all.leading;
    const S* const target = targets + row * all.columns;
    const double weight = all.weights[row];
    if ((masked && is_nan(*target)) || weight == 0) return all.fill(values, S(0));
    loss += weight * soft_cross_entropy(values, target, all.columns, all.factor * static_cast<S>(weight), all.writes);
    count += op::count_of_weight(weight);
  });
}

}  // namespace detail

/// A target outside [0, columns) that is not ignore_index makes the row's loss and gradient NaN, so that the step is
/// seen to be wrong; nothing outside the row is accessed.
template <bool WithGradient, class S>
void compute(const op::CrossEntropy<WithGradient, S>& o, const Memory& at) {
  detail::cross_entropy_of_rows(detail::LossRows<S>(o, at, WithGradient), at(o.target), o.smoothing, *at(o.scalars));
}

template <bool WithGradient, class S>
void compute(const op::SoftCrossEntropy<WithGradient, S>& o, const Memory& at) {
  detail::soft_cross_entropy_of_rows(detail::LossRows<S>(o, at, WithGradient), static_cast<const S*>(at(o.target)),
                                     o.masked, *at(o.scalars));
}

/// Differences and their squares in fp64; the gradient is rounded once.
namespace detail {

/// Lane by lane.
template <class Function>
struct Pointwise {
  static Vector<double> value(Vector<double> x, Vector<double> t) {
    for (std::size_t lane = 0; lane < lanes<double>; ++lane)
      x.native[lane] = Function::value(x.native[lane], t.native[lane]);
    return x;
  }
  static Vector<double> derivative(Vector<double> x, Vector<double> t) {
    for (std::size_t lane = 0; lane < lanes<double>; ++lane)
      x.native[lane] = Function::derivative(x.native[lane], t.native[lane]);
    return x;
  }
};
/// 1 of a target that counts, 0 of one that is absent.
template <class Function>
double counts([[maybe_unused]] double target) {
  if constexpr (pointwise::Counts<Function>) return Function::counts(target) ? 1 : 0;
  else return 1;
}
template <>
struct Pointwise<pointwise::Squared> {
  static Vector<double> value(Vector<double> x, Vector<double> t) { return (x - t) * (x - t); }
  static Vector<double> derivative(Vector<double> x, Vector<double> t) { return (x - t) * 2.0; }
};

}  // namespace detail

template <class Function, bool WithGradient, class S>
void compute(const op::PointwiseLoss<Function, WithGradient, S>& o, const Memory& at) {
  S* const output = at(o.output);
  const S* const target = at(o.target);
  Scalars& scalars = *at(o.scalars);
  const Vector<double> factor = o.scale * scalars.loss_scale;
  double losses[most_partials] = {};
  [[maybe_unused]] double counts[most_partials] = {};
  const detail::WeightsOf weights(o.weight, at);
  const bool all_count = !pointwise::Counts<Function> && weights.at == nullptr;
  const std::size_t chunks = detail::partials_for(o.count, o.count);
  parallel_for(chunks, [&](std::size_t chunk) {
    const std::size_t begin = part_begin(o.count, chunks, chunk), end = part_begin(o.count, chunks, chunk + 1);
    if (weights.at == nullptr)
      losses[chunk] = sum_of<double>(end - begin, [&](std::size_t i, auto n) {
        const Vector<double> x = load<double>(output + begin + i, n), t = load<double>(target + begin + i, n);
        if constexpr (WithGradient)
          store(detail::Pointwise<Function>::derivative(x, t) * factor, output + begin + i, n);
        return zero_tail(detail::Pointwise<Function>::value(x, t), n);
      });
    else
      losses[chunk] = sum_of<double>(end - begin, [&](std::size_t i, auto n) {
        const Vector<double> x = load<double>(output + begin + i, n), t = load<double>(target + begin + i, n),
                             w = load<double>(weights.at + begin + i, n), none(0.0);
        if constexpr (WithGradient)
          store(select(w == none, none, detail::Pointwise<Function>::derivative(x, t) * factor * w), output + begin + i,
                n);
        return zero_tail(select(w == none, none, detail::Pointwise<Function>::value(x, t) * w), n);
      });
    if (!all_count)
      for (std::size_t i = begin; i < end; ++i)
        counts[chunk] += detail::counts<Function>(double(target[i])) * op::count_of_weight(weights[i]);
  });
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    scalars.loss_sum += losses[chunk];
    scalars.count += counts[chunk];
  }
  if (all_count) scalars.count += static_cast<double>(o.count);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
