// regimen/engine/cpu/step.hpp — the decisions of a step, and what they stand on: anomalies and correct rows.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/step_decisions.hpp>
#include <regimen/engine/cpu/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace regimen::cpu {

inline void compute(const op::Begin& o, const Memory& at) { step_decisions::begin(o, *at(o.scalars)); }

/// The next slot of the ring becomes the micro-batch: the numbers that the host gives with it, its input and its
/// target. The counter of taken slots is in the arena, so that a recording that is replayed takes another slot.
inline void compute(const op::TakeInput& o, const Memory& at) {
  const std::byte* const slot = at.base + o.ring.slot((*at(o.ring.taken))++);
  std::memcpy(at.base + o.scalars.offset, slot, given_bytes);
  std::memcpy(at(o.input), slot + o.ring.input, o.input_bytes);
  std::memcpy(at(o.target), slot + o.ring.target, o.target_bytes);
}
inline void compute(const op::KeepResults& o, const Memory& at) { *at(o.to) = *at(o.scalars); }

/// The first element that is not finite, in the order of rows. The first anomaly of a step stays: later ones follow
/// from it.
template <class T>
void compute(const op::CheckFinite<T>& o, const Memory& at) {
  op::Anomaly& anomaly = at(o.scalars)->anomaly;
  if (anomaly.found) return;
  const T* const x = at(o.x);
  for (std::size_t i = 0; i < o.count; ++i) {
    const T value = x[o.place(i)];
    if (is_finite(value)) continue;
    anomaly = op::Anomaly{.path = o.path, .element = i, .found = true, .is_nan = is_nan(value), .phase = o.phase};
    return;
  }
}

inline void compute(const op::BeginLosses& o, const Memory& at) {
  step_decisions::begin_losses(o, *at(o.scalars), at(o.losses));
}
inline void compute(const op::SumLosses& o, const Memory& at) {
  step_decisions::sum_losses(o, *at(o.scalars), at(o.losses));
}

inline void compute(const op::ShareSums& o, const Memory& at) { step_decisions::share(*at(o.scalars), *at(o.sums)); }

inline void compute(const op::CombineSums& o, const Memory& at) {
  step_decisions::combine(o, *at(o.scalars), at(o.sums));
}

/// A row is correct if its target is the first of its largest logits and no logit is NaN; it counts by its weight. Rows
/// whose target is ignore_index count for nothing.
template <class S>
void compute(const op::CountCorrect<S>& o, const Memory& at) {
  const S* const logits = at(o.logits);
  const std::int32_t* const target = at(o.target);
  double correct = 0;
  for (std::size_t row = 0; row < o.rows; ++row) {
    if (target[row] == ignore_index) continue;
    const S* const x = logits + row * o.row();
    std::size_t largest = 0, nans = 0;
    for (std::size_t i = 0; i < o.columns; ++i) {
      nans += is_nan(x[i]) ? 1 : 0;
      if (x[i] > x[largest]) largest = i;
    }
    const double weight = o.weight.is_absent() ? 1 : op::count_of_weight(static_cast<double>(at(o.weight)[row]));
    correct += nans == 0 && static_cast<std::size_t>(target[row]) == largest ? weight : 0;
  }
  at(o.scalars)->correct += correct;
}

template <class UpdateRule>
void compute(const op::Finish<UpdateRule>& o, const Memory& at) {
  step_decisions::finish<UpdateRule>(o, *at(o.scalars));
}

template <class UpdateRule>
void compute(const op::ScalarsOfGroup<UpdateRule>& o, const Memory& at) {
  step_decisions::of_group<UpdateRule>(o, *at(o.scalars), *at(o.to));
}

template <class Function>
void compute(const op::Calculate<Function>& o, const Memory& at) {
  o.function(at(o.numbers), *at(o.scalars));
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
