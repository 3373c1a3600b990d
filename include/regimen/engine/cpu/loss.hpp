// regimen/engine/cpu/loss.hpp — losses, with their gradients in the same pass.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
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
  return (std::min)({chunks_of(elements), things, most_partials});
}

/// What things add to the scalars of a step.
struct LossSums final {
  double loss = 0, count = 0, correct = 0;
};
/// Adds up what body(begin, end, sums) adds to the sums of a chunk of `things`, in a fixed order.
template <class Body>
void sum_losses(std::size_t things, std::size_t elements, Scalars& scalars, const Body& body) {
  LossSums sums[most_partials];
  const std::size_t chunks = partials_for(things, elements);
  parallel_for(chunks, [&](std::size_t chunk) {
    LossSums own;
    body(part_begin(things, chunks, chunk), part_begin(things, chunks, chunk + 1), own);
    sums[chunk] = own;
  });
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    scalars.loss_sum += sums[chunk].loss;
    scalars.count += sums[chunk].count;
    scalars.correct += sums[chunk].correct;
  }
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

  /// Adds up what body(row, sums) adds.
  void sum(Scalars& scalars, const auto& body) const {
    sum_losses(rows, rows * columns, scalars, [&](std::size_t row, std::size_t end, LossSums& sums) {
      for (; row < end; ++row) body(row, sums);
    });
  }
  /// The gradients of a row that has no loss.
  void fill(S* row, S value) const {
    if (writes) for_each_vector<S>(0, columns, [&](std::size_t i, auto n) { store(Vector<S>(value), row + i, n); });
  }
};

/// Σ e^(logit − most) of a row; each term takes its logit's place if `writes`.
template <class S>
S sum_of_powers(S* logits, std::size_t columns, S most, bool writes) {
  return sum_of<S>(columns, [&](std::size_t i, auto n) {
    const Vector<S> e = exp(load<S>(logits + i, n) - most);
    if (writes) store(e, logits + i, n);
    return zero_tail(e, n);
  });
}

/// −Σ q log p, q = smoothing / columns everywhere and 1 − smoothing more at the target, p the softmax: with m the
/// largest logit, log Σ exp(logit − m) − (1 − smoothing) (logit of the target − m) − smoothing / columns · Σ (logit −
/// m). The gradient is (p − q) · factor.
/// Loss of one row; its gradient over the logits, if `writes`.
template <class S>
double cross_entropy(S* logits, std::size_t columns, std::size_t target, double smoothing, S factor, bool writes) {
  using V = Vector<S>;
  const S most = largest_of(logits, columns), at_target = logits[target] - most;
  S shifted = S(0);  // Σ (logit − most), for the smoothed part of the target
  if (smoothing != 0)
    shifted = sum_of<S>(columns, [&](std::size_t i, auto n) { return zero_tail(load<S>(logits + i, n) - most, n); });
  const S total = sum_of_powers(logits, columns, most, writes);
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
  all.sum(scalars, [&](std::size_t row, LossSums& sums) {
    S* const values = all.logits + row * all.leading;
    const std::size_t target = static_cast<std::uint32_t>(targets[row]);
    const double weight = all.weights[row];
    const bool ignored = targets[row] == ignore_index || weight == 0, valid = target < all.columns;
    if (!ignored) sums.count += op::count_of_weight(weight);
    if (!ignored && valid) {
      sums.loss += weight * cross_entropy(values, all.columns, target, smoothing, all.factor * static_cast<S>(weight),
                                          all.writes);
    } else {
      const S fill = ignored ? S(0) : std::numeric_limits<S>::quiet_NaN();
      sums.loss += static_cast<double>(fill);
      all.fill(values, fill);
    }
  });
}

/// −Σ q log p of the target's numbers q, whose sum need not be 1: Σ q · log Σ exp(logit − m) − Σ q (logit − m). Where q
/// is 0 the term is 0, also of a logit of −∞. The gradient is (Σ q · p − q) · factor.
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
  const S total = sum_of_powers(logits, columns, most, writes);
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
  all.sum(scalars, [&](std::size_t row, LossSums& sums) {
    S* const values = all.logits + row * all.leading;
    const S* const target = targets + row * all.columns;
    const double weight = all.weights[row];
    if ((masked && is_nan(*target)) || weight == 0) return all.fill(values, S(0));
    sums.loss +=
        weight * soft_cross_entropy(values, target, all.columns, all.factor * static_cast<S>(weight), all.writes);
    sums.count += op::count_of_weight(weight);
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

template <class Function>
struct Pointwise {
  static Vector<double> value(Vector<double> x, Vector<double> t) {
    return by_lane([](double a, double b) { return Function::value(a, b); }, x, t);
  }
  static Vector<double> derivative(Vector<double> x, Vector<double> t) {
    return by_lane([](double a, double b) { return Function::derivative(a, b); }, x, t);
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
  const detail::WeightsOf weights(o.weight, at);
  const bool all_count = !pointwise::Counts<Function> && weights.at == nullptr;
  detail::sum_losses(o.count, o.count, scalars, [&](std::size_t begin, std::size_t end, detail::LossSums& sums) {
    const auto loss = [&](const auto& weigh) {  // weigh(value, i, count)
      return sum_of<double>(end - begin, [&](std::size_t i, auto n) {
        const Vector<double> x = load<double>(output + begin + i, n), t = load<double>(target + begin + i, n);
        if constexpr (WithGradient)
          store(weigh(detail::Pointwise<Function>::derivative(x, t) * factor, begin + i, n), output + begin + i, n);
        return zero_tail(weigh(detail::Pointwise<Function>::value(x, t), begin + i, n), n);
      });
    };
    if (weights.at == nullptr) sums.loss = loss([](Vector<double> value, std::size_t, auto) { return value; });
    else
      sums.loss = loss([&](Vector<double> value, std::size_t i, auto n) {
        const Vector<double> w = load<double>(weights.at + i, n), none(0.0);
        return select(w == none, none, value * w);
      });
    if (!all_count)
      for (std::size_t i = begin; i < end; ++i)
        sums.count += detail::counts<Function>(double(target[i])) * op::count_of_weight(weights[i]);
  });
  if (all_count) scalars.count += static_cast<double>(o.count);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
