// regimen/programs/update_whole_tensor.hpp — the update of one tensor by a rule that sees whole tensors.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/whole_tensor.hpp>

#include <cstddef>

namespace regimen::programs {

/// A rule on spans is one operation, whose scratch has a copy of the gradient, too.
template <class UpdateRule, class M, class T, class G>
constexpr void update_whole_tensor(auto& walk, const op::UpdateTensor<UpdateRule, M, T, G>& update,
                                   const LayerPath& path) {
  const std::size_t scratch =
      walk.arena.take(TensorArena::align((update.rows * update.columns + update.scratch_count()) * sizeof(M)),
                      MemoryKind::scratch, path);
  op::UpdateTensor<UpdateRule, M, T, G> with_scratch = update;
  with_scratch.scratch = {scratch};
  walk.run(with_scratch);
  walk.arena.give(scratch);
}

/// A rule that is written by operations: the gradient that it sees, its own operations, and the copy that kernels read.
/// That copy is rounded from the master weights again in a step that does not count, to the same bits.
template <class UpdateRule, class M, class T, class G>
  requires UpdatesByOperations<UpdateRule>
constexpr void update_whole_tensor(auto& walk, const op::UpdateTensor<UpdateRule, M, T, G>& update,
                                   const LayerPath& path) {
  walk.path = path;
  const auto take = [&](std::size_t bytes) {
    return bytes == 0 ? View<M>::absent : walk.arena.take(TensorArena::align(bytes), MemoryKind::scratch, path);
  };
  const auto give = [&](std::size_t offset) {
    if (offset != View<M>::absent) walk.arena.give(offset);
  };
  const std::size_t count = update.rows * update.columns;
  TensorViews<M, UpdateRule> tensor{};
  tensor.weight = update.master;
  tensor.gradient = {take(count * sizeof(M))};
  for (std::size_t s = 0; s < tensor.state.size(); ++s) tensor.state[s] = update.state + s * update.state_stride;
  const auto counts = regimen::detail::scratch_counts<UpdateRule>(update.rows, update.columns);
  for (std::size_t i = 0; i < tensor.scratch.size(); ++i) tensor.scratch[i] = {take(counts[i] * sizeof(M))};
  tensor.numbers = {take(regimen::detail::scratch_numbers<UpdateRule> * sizeof(double))};
  tensor.scalars = update.scalars;
  tensor.rows = update.rows;
  tensor.columns = update.columns;
  tensor.decays = update.decays;
  walk.run(op::ScaledSum<G, M>{
      .x = update.gradient, .y = tensor.gradient, .count = count, .a = {.number = factor_of(update.scalars)}});
  UpdateRule::update_tensor(walk, tensor, update.options);
  if (!update.copy.is_absent()) walk.run(op::Cast<M, T>{.x = update.master, .y = update.copy, .count = count});
  give(tensor.numbers.offset);
  for (std::size_t i = tensor.scratch.size(); i > 0; --i) give(tensor.scratch[i - 1].offset);
  give(tensor.gradient.offset);
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
