// regimen/engine/cpu/step.hpp — the decisions of a step: op::Begin and op::Finish.
#pragma once

#include <regimen/comm/tree.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>

#include <cmath>
#include <limits>

namespace regimen::cpu {

inline void compute(const op::Begin& o, const Memory& at) {
  Scalars& s = *at(o.scalars);
  s.loss_sum = s.count = s.correct = s.square_sum = 0;
  s.anomaly = {};
}

template <class T>
void compute(const op::CheckFinite<T>& o, const Memory& at) {
  op::Anomaly& anomaly = at(o.scalars)->anomaly;
  if (anomaly.found) return;
  const T* const x = at(o.x);
  for (std::size_t i = 0; i < o.count; ++i) {
    if (is_finite(x[i])) continue;
    anomaly = {o.path, i, true, is_nan(x[i]), o.phase};
    return;
  }
}

inline void compute(const op::ShareSums& o, const Memory& at) {
  const Scalars& s = *at(o.scalars);
  RankSums& own = *at(o.sums);
  own.loss_sum = s.loss_sum;
  own.count = s.count;
  own.correct = s.correct;
}

inline void compute(const op::CombineSums& o, const Memory& at) {
  Scalars& s = *at(o.scalars);
  const RankSums* const sums = at(o.sums);
  s.loss_sum = comm::tree_of(0, o.ranks, [&](std::size_t rank) { return sums[rank].loss_sum; });
  s.count = comm::tree_of(0, o.ranks, [&](std::size_t rank) { return sums[rank].count; });
  s.correct = comm::tree_of(0, o.ranks, [&](std::size_t rank) { return sums[rank].correct; });
  const std::size_t group = o.group == 0 ? o.ranks : o.group, groups = o.ranks / group;  // part p is that of rank p div groups + p mod groups · group
  s.square_sum = comm::tree_of(0, o.ranks, [&](std::size_t part) { return sums[part / groups + part % groups * group].square_sum; });
}

template <class S>
void compute(const op::CountCorrect<S>& o, const Memory& at) {
  const S* const logits = at(o.logits);
  const std::int32_t* const target = at(o.target);
  double correct = 0;
  for (std::size_t row = 0; row < o.rows; ++row) {
    if (target[row] == ignore_index) continue;
    const S* const x = logits + row * o.columns;
    std::size_t largest = 0, nans = 0;
    for (std::size_t i = 0; i < o.columns; ++i) {
      nans += is_nan(x[i]) ? 1 : 0;
      if (x[i] > x[largest]) largest = i;
    }
    correct += nans == 0 && static_cast<std::size_t>(target[row]) == largest ? 1 : 0;
  }
  at(o.scalars)->correct += correct;
}

/// op::Finish on the CPU.
template <class UpdateRule>
void compute(const op::Finish<UpdateRule>& o, const Memory& at) {
  Scalars& s = *at(o.scalars);
  if (s.anomaly.found) {
    s.apply = 0;
    return;
  }
  if (s.count == 0) {  // no valid target: no step, but no overflow either
    s.loss = s.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    s.factor = s.apply = 0;
    return;
  }
  s.loss = s.loss_sum / s.count;
  const double unscaled = 1 / (s.count * o.scale * s.loss_scale);
  s.gradient_norm = std::sqrt(s.square_sum) * unscaled;
  s.factor = o.clip > 0 && s.gradient_norm > o.clip ? unscaled * (o.clip / (s.gradient_norm + 1e-6)) : unscaled;
  s.apply = is_finite(s.gradient_norm) ? 1 : 0;
  if (s.apply) {
    ++s.updates;
    s.correction_first = UpdateRule::correction_first(o.options, s.updates);
    s.correction_second = UpdateRule::correction_second(o.options, s.updates);
  } else {
    ++s.skipped;
  }
  if (o.loss_scaling.growth_interval > 0) {
    if (!s.apply) {
      s.loss_scale = s.loss_scale / 2 > 1 ? s.loss_scale / 2 : 1;
      s.finite_streak = 0;
    } else if (s.finite_streak + 1 >= o.loss_scaling.growth_interval) {
      if (s.loss_scale * 2 <= double((std::numeric_limits<float>::max)())) s.loss_scale *= 2;
      s.finite_streak = 0;
    } else {
      ++s.finite_streak;
    }
  }
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
