// regimen/core/step_decisions.hpp — the decisions of a step on its scalars: the same code for all engines.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/hd.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/tree.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

namespace regimen::step_decisions {

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN(),
                        largest_fp32 = (std::numeric_limits<float>::max)();

/// op::Begin.
REGIMEN_HD inline void begin(const op::Begin& o, Scalars& s) {
  s.loss_sum = s.count = s.correct = s.square_sum = 0;
  s.anomaly = o.none;
}

/// op::BeginLosses.
REGIMEN_HD inline void begin_losses(const op::BeginLosses& o, const Scalars& s, Scalars* losses) {
  for (std::size_t i = 0; i < o.count; ++i) {
    losses[i] = s;
    losses[i].loss_sum = losses[i].count = losses[i].correct = 0;
  }
}
/// op::SumLosses.
REGIMEN_HD inline void sum_losses(const op::SumLosses& o, Scalars& s, const Scalars* losses) {
  for (std::size_t i = 0; i < o.count; ++i) {
    s.loss_sum += o.weights[i] * losses[i].loss_sum;
    s.correct += o.correct * losses[i].correct;
  }
  s.count += o.samples;
}

/// op::ShareSums.
REGIMEN_HD inline void share(const Scalars& s, RankSums& own) {
  own.loss_sum = s.loss_sum;
  own.count = s.count;
  own.correct = s.correct;
}

/// op::CombineSums.
REGIMEN_HD inline void combine(const op::CombineSums& o, Scalars& s, const RankSums* sums) {
  s.loss_sum = tree_of(0, o.ranks, [&](std::size_t rank) { return sums[rank].loss_sum; });
  s.count = tree_of(0, o.ranks, [&](std::size_t rank) { return sums[rank].count; });
  s.correct = tree_of(0, o.ranks, [&](std::size_t rank) { return sums[rank].correct; });
  const std::size_t group = o.group == 0 ? o.ranks : o.group,
                    groups = o.ranks / group;  // part p is that of rank p div groups + p mod groups · group
  s.square_sum =
      tree_of(0, o.ranks, [&](std::size_t part) { return sums[part / groups + part % groups * group].square_sum; });
}

/// op::Finish.   Rule   the update rule, or what calls it for a kernel
REGIMEN_HD_UNCHECKED
template <class Rule, class UpdateRule>
REGIMEN_HD void finish(const op::Finish<UpdateRule>& o, Scalars& s) {
  if (s.anomaly.found) {
    s.apply = 0;
    return;
  }
  if (s.count == 0) {  // no valid target: no step, but no overflow either
    s.loss = s.gradient_norm = no_number;
    s.factor = s.apply = 0;
    return;
  }
  const double divisor = o.sums ? 1 : s.count;
  s.loss = s.loss_sum / divisor;
  const double unscaled = 1 / (divisor * o.scale * s.loss_scale);
  s.gradient_norm = std::sqrt(s.square_sum) * unscaled;
  s.factor = o.clip > 0 && s.gradient_norm > o.clip ? unscaled * (o.clip / (s.gradient_norm + 1e-6)) : unscaled;
  // Kernels multiply gradients by the factor in fp32.
  s.apply = is_finite(s.gradient_norm) && s.factor <= largest_fp32 ? 1 : 0;
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
      if (s.loss_scale * 2 <= largest_fp32) s.loss_scale *= 2;
      s.finite_streak = 0;
    } else {
      ++s.finite_streak;
    }
  }
}

/// op::ScalarsOfGroup.
REGIMEN_HD_UNCHECKED
template <class Rule, class UpdateRule>
REGIMEN_HD void of_group(const op::ScalarsOfGroup<UpdateRule>& o, const Scalars& s, Scalars& group) {
  group = s;
  const double rate = o.has_schedule ? o.base * o.schedule.share(s.random.step) : s.learning_rate;
  group.learning_rate = rate * o.options.learning_rate;
  if (s.apply) {
    group.correction_first = Rule::correction_first(o.options, s.updates);
    group.correction_second = Rule::correction_second(o.options, s.updates);
  }
}

}  // namespace regimen::step_decisions
// SPDX-License-Identifier: Apache-2.0
