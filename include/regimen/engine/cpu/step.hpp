// regimen/engine/cpu/step.hpp — the decisions of a step: op::Begin and op::Finish.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>

#include <cmath>
#include <limits>

namespace regimen::cpu {

inline void compute(const op::Begin& o, const Memory& at) {
  Scalars& s = *at(o.scalars);
  s.loss_sum = s.count = s.correct = s.square_sum = 0;
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

/// The decisions are those that op::Finish defines.
template <class Rule>
void compute(const op::Finish<Rule>& o, const Memory& at) {
  Scalars& s = *at(o.scalars);
  if (s.count == 0) {  // nothing to learn from: no step, and no overflow either
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
    s.correction_first = Rule::correction_first(o.options, s.updates);
    s.correction_second = Rule::correction_second(o.options, s.updates);
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
