// regimen/engine/cpu/update.hpp — an update rule applied to a unit: weights, state and the rounded copy in one pass.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>

namespace regimen::cpu {

/// Touches nothing when the step is skipped (scalars.apply = 0). M is fp32 or fp64; the rule computes in M.
template <class UpdateRule, class M, class T, class G>
void compute(const op::Update<UpdateRule, M, T, G>& o, const Memory& at) {
  using V = Vector<M>;
  const Scalars& scalars = *at(o.scalars);
  if (scalars.apply == 0 || o.count == 0) return;
  M* const master = at(o.master);
  M* state = nullptr;
  if constexpr (UpdateRule::states > 0) state = at(o.state);
  T* const copy = at.optional(o.copy);
  const G* const gradient = at(o.gradient);
  const V factor = static_cast<M>(o.divided ? 1 : scalars.factor);
  const typename UpdateRule::template Coefficients<M> coefficients(o.options, scalars);

  const auto run = [&](std::size_t begin, std::size_t end, bool decays) {
    for_each_vector<M>(begin, end, [&](std::size_t i, auto n) {
      V weight = load<M>(master + i, n);
      V moments[UpdateRule::states == 0 ? 1 : UpdateRule::states];
      for (std::size_t s = 0; s < UpdateRule::states; ++s) moments[s] = load<M>(state + s * o.state_stride + i, n);
      UpdateRule::update(weight, load<M>(gradient + i, n) * factor, moments, coefficients, decays);
      store(weight, master + i, n);
      for (std::size_t s = 0; s < UpdateRule::states; ++s) store(moments[s], state + s * o.state_stride + i, n);
      if (copy != nullptr) store(weight, copy + i, n);
    });
  };
  const std::size_t chunks = chunks_of(o.count);
  parallel_for(chunks, [&](std::size_t chunk) {
    const std::size_t begin = part_begin(o.count, chunks, chunk), end = part_begin(o.count, chunks, chunk + 1);
    for (std::size_t s = 0; s < o.segments.count; ++s) {
      const op::Segment& segment = o.segments.items[s];
      const std::size_t first = segment.offset < o.first + begin ? o.first + begin : segment.offset;
      const std::size_t last =
          segment.offset + segment.count < o.first + end ? segment.offset + segment.count : o.first + end;
      if (first < last) run(first - o.first, last - o.first, segment.decays);
    }
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
