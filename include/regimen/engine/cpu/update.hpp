// regimen/engine/cpu/update.hpp — the norm of a gradient; an update rule applied to a unit (weights, state and the
// rounded copy in one pass), and to a whole tensor.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/tree.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

using TreeSum = regimen::TreeSum<double>;

/// Σ x² of one chunk: on every machine sixteen interleaved sums, then their sum as a tree.
template <class G>
double square_sum(const G* from, std::size_t count) {
  constexpr std::size_t width = 16, registers = width / lanes<double>;
  using V = Vector<double>;
  V sums[registers];
  for (V& sum : sums) sum = 0.0;
  const auto add = [&](const auto* values) {
    for (std::size_t r = 0; r < registers; ++r) {
      const V value = load<double>(values + r * lanes<double>);
      sums[r] = multiply_add(value, value, sums[r]);
    }
  };
  const auto add_some = [&](const G* values, std::size_t some) {
    if constexpr (sizeof(G) == 2) {
      float exact[width] = {};
      for_each_vector<float>(0, some, [&](std::size_t i, auto n) { store(load<float>(values + i, n), exact + i, n); });
      add(exact);
    } else {
      G exact[width] = {};
      for (std::size_t i = 0; i < some; ++i) exact[i] = values[i];
      add(exact);
    }
  };
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    if constexpr (sizeof(G) == 2) add_some(from + i, width);
    else add(from + i);
  }
  if (i < count) add_some(from + i, count - i);
  for (std::size_t half = registers / 2; half > 0; half /= 2) {
    for (std::size_t r = 0; r < half; ++r) sums[r] += sums[r + half];
  }
  return sum(sums[0]);
}

}  // namespace detail

template <class T>
void compute(const op::Zero<T>& o, const Memory& at) {
  T* const y = at(o.y);
  for_each_of(o.count, 1, [&](std::size_t i) { y[i] = T(0.0f); });
}

/// Σ g², in fp64: sums of chunks of 4096 elements, added as a balanced tree.
/// Groups of 2^k chunks are subtrees of the tree over chunks, so cores sum groups without changing the result.
template <class G>
void compute(const op::SumOfSquares<G>& o, const Memory& at) {
  constexpr std::size_t chunk_size = 4096;
  const G* const gradient = at(o.gradient);
  const std::size_t chunks = (o.count + chunk_size - 1) / chunk_size;
  std::size_t at_once = grain / chunk_size;
  while (chunks > at_once * most_partials) at_once *= 2;
  double sums[most_partials];
  const std::size_t groups = (chunks + at_once - 1) / at_once;
  parallel_for(groups, [&](std::size_t group) {
    detail::TreeSum tree;
    const std::size_t end = chunks < (group + 1) * at_once ? chunks : (group + 1) * at_once;
    for (std::size_t chunk = group * at_once; chunk < end; ++chunk) {
      const std::size_t begin = chunk * chunk_size;
      tree.add(detail::square_sum(gradient + begin, o.count - begin < chunk_size ? o.count - begin : chunk_size));
    }
    sums[group] = tree.total();
  });
  detail::TreeSum tree;
  for (std::size_t group = 0; group < groups; ++group) tree.add(sums[group]);
  *at(o.sum) += tree.total();
}

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
      const std::size_t first = (std::max)(segment.offset, o.first + begin),
                        last = (std::min)(segment.offset + segment.count, o.first + end);
      if (first < last) run(first - o.first, last - o.first, segment.decays);
    }
  });
}

/// Touches nothing when the step is skipped (scalars.apply = 0). The rule computes in M.
/// The scaled gradient, in M, comes first in scratch, then what the rule wants itself. The copy is rounded from the
/// master weights at the end.
template <class UpdateRule, class M, class T, class G>
void compute(const op::UpdateTensor<UpdateRule, M, T, G>& o, const Memory& at) {
  const Scalars& scalars = *at(o.scalars);
  const std::size_t count = o.rows * o.columns;
  if (scalars.apply == 0 || count == 0) return;
  M *const master = at(o.master), *const scratch = at(o.scratch);
  const G* const stored = at(o.gradient);
  const M factor = static_cast<M>(scalars.factor);
  for_each_of(count, 1, [&](std::size_t i) { scratch[i] = static_cast<M>(stored[i]) * factor; });
  WholeTensor<M, UpdateRule::states> tensor{.weight = {master, count},
                                            .gradient = {scratch, count},
                                            .state = {},
                                            .scratch = {scratch + count, o.scratch_count()},
                                            .rows = o.rows,
                                            .columns = o.columns,
                                            .decays = o.decays};
  if constexpr (UpdateRule::states > 0)
    for (std::size_t s = 0; s < UpdateRule::states; ++s) tensor.state[s] = {at(o.state) + s * o.state_stride, count};
  UpdateRule::update_tensor(tensor, typename UpdateRule::template Coefficients<M>(o.options, scalars));
  if (T* const copy = at.optional(o.copy)) for_each_of(count, 1, [&](std::size_t i) { copy[i] = T(master[i]); });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
