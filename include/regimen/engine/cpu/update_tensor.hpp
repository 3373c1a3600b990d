// regimen/engine/cpu/update_tensor.hpp — an update rule applied to a whole tensor.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>
#include <span>

namespace regimen::cpu {

/// Touches nothing when the step is skipped (scalars.apply = 0). The rule computes in M.
template <class UpdateRule, class M, class T, class G>
void compute(const op::UpdateTensor<UpdateRule, M, T, G>& o, const Memory& at) {
  const Scalars& scalars = *at(o.scalars);
  const std::size_t count = o.rows * o.columns;
  if (scalars.apply == 0 || count == 0) return;
  M *const master = at(o.master), *const scratch = at(o.scratch);
  const G* const stored = at(o.gradient);
  const M factor = static_cast<M>(scalars.factor);
  const std::size_t chunks = chunks_of(count);
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t i = part_begin(count, chunks, chunk); i < part_begin(count, chunks, chunk + 1); ++i)
      scratch[i] = static_cast<M>(stored[i]) * factor;
  });
  WholeTensor<M, UpdateRule::states> tensor{
      {master, count}, {scratch, count}, {}, {scratch + count, o.scratch_count()}, o.rows, o.columns, o.decays};
  if constexpr (UpdateRule::states > 0)
    for (std::size_t s = 0; s < UpdateRule::states; ++s) tensor.state[s] = {at(o.state) + s * o.state_stride, count};
  UpdateRule::update_tensor(tensor, typename UpdateRule::template Coefficients<M>(o.options, scalars));
  if (T* const copy = at.optional(o.copy))
    parallel_for(chunks, [&](std::size_t chunk) {
      for (std::size_t i = part_begin(count, chunks, chunk); i < part_begin(count, chunks, chunk + 1); ++i)
        copy[i] = T(master[i]);
    });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
