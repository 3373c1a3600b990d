// regimen/kernel/update.hpp — an update rule applied to a unit, and the norm that decides about it.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/step.hpp>

#include <cstddef>

namespace regimen::kernel {

/// weights = rule(weights, gradient · factor, state), the rule in M. Weights, state and the rounded copy in one launch.
/// Touches nothing when the step is skipped.
///
/// A unit's segments differ in whether they decay: each is a loop of its own, from where this rank's part begins in it.
/// A thread takes packs, if a segment begins at a multiple of 16 bytes in every tensor; the state's tensors lie
/// state_stride apart. An element is read and written by one thread: the bits are the same with packs as without.
///
/// cost   weights and state are read and written once, the gradient is read once, the copy is written once: the least
template <class UpdateRule, class M, class T, class G>
struct Kernel<op::Update<UpdateRule, M, T, G>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<M, T, G>;
  op::Update<UpdateRule, M, T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const Scalars& scalars = *at(o.scalars);
    if (scalars.apply == 0) return;
    M* const master = at(o.master);
    M* const state = UpdateRule::states > 0 ? at(o.state) : nullptr;
    T* const copy = at.optional(o.copy);
    const G* const gradient = at(o.gradient);
    const M factor = static_cast<M>(o.divided ? 1 : scalars.factor);
    using Rule = an_update_rule_on_a_device_marks_its_functions_REGIMEN_HD<UpdateRule>;
    const auto coefficients = Rule::template coefficients<M>(o.options, scalars);
    const auto* const segments =
        reinterpret_cast<const op::Segment*>(&o.segments.items);  // the functions of std::array are the host's
    for (std::size_t s = 0; s < o.segments.count; ++s) {
      const op::Segment segment = segments[s];
      const std::size_t first = segment.offset < o.first ? o.first : segment.offset;
      const std::size_t last =
          segment.offset + segment.count < o.first + o.count ? segment.offset + segment.count : o.first + o.count;
      if (first >= last) continue;
      const std::size_t begin = first - o.first;
      const bool aligned =
          are_aligned(master + begin, gradient + begin) &&
          (UpdateRule::states == 0 || (are_aligned(state + begin) && o.state_stride * sizeof(M) % 16 == 0)) &&
          (copy == nullptr || are_aligned(copy + begin));
      detail::for_elements<width>(block, last - first, aligned, [&]<unsigned n>(std::size_t piece) {
        constexpr std::size_t states = UpdateRule::states == 0 ? 1 : UpdateRule::states;
        const std::size_t i = begin + piece;
        const auto gradients = detail::read<n>(gradient + i);
        auto weights = detail::read<n>(master + i);
        Pack<M, n> moments[states] = {};
        if constexpr (UpdateRule::states > 0)
          for (std::size_t m = 0; m < states; ++m) moments[m] = detail::read<n>(state + m * o.state_stride + i);
        for (unsigned k = 0; k < n; ++k) {
          M own[states];
          for (std::size_t m = 0; m < states; ++m) own[m] = moments[m].at[k];
          Rule::update(weights.at[k], static_cast<M>(gradients.at[k]) * factor, own, coefficients, segment.decays);
          for (std::size_t m = 0; m < states; ++m) moments[m].at[k] = own[m];
        }
        detail::write(weights, master + i);
        if constexpr (UpdateRule::states > 0)
          for (std::size_t m = 0; m < states; ++m) detail::write(moments[m], state + m * o.state_stride + i);
        if (copy == nullptr) return;
        Pack<T, n> rounded;
        for (unsigned k = 0; k < n; ++k) rounded.at[k] = converted<T>(weights.at[k]);
        detail::write(rounded, copy + i);
      });
    }
  }
};

/// Elements whose squares a block adds.
inline constexpr std::size_t square_chunk = 4096;

/// Σ g² of the gradient, each square and each sum in fp64: the sums of chunks of 4096 elements, which do not depend on
/// the number of blocks. A block takes a chunk, and a thread packs of it: in one order, whether the gradient begins at
/// a multiple of 16 bytes, so that it is read by packs, or not.
template <class G>
struct Kernel<op::SumOfSquares<G>, 0> final {
  static constexpr unsigned passes = 2, threads = detail::flat_threads, width = pack_of<G>;
  static constexpr std::size_t shared_bytes = combined_bytes<double>;
  op::SumOfSquares<G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::SumOfSquares<G>& operation) {
    return (operation.count + square_chunk - 1) / square_chunk * sizeof(double);
  }
  REGIMEN_HD constexpr std::size_t chunks() const { return (o.count + square_chunk - 1) / square_chunk; }
  constexpr unsigned blocks() const { return blocks_for(chunks(), 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const G* const gradient = at(o.gradient);
    const bool aligned = are_aligned(gradient);
    double* const sums = at.template scratch_of<double>();
    for (std::size_t chunk = block.index(); chunk < chunks(); chunk += block.blocks()) {
      const std::size_t end = (chunk + 1) * square_chunk < o.count ? (chunk + 1) * square_chunk : o.count;
      double sum = 0;
      for_runs<width>(block, chunk * square_chunk, end, aligned, [&]<unsigned n>(std::size_t i) {
        const auto elements = detail::read<n>(gradient + i);
        for (unsigned k = 0; k < n; ++k) {
          const double value = static_cast<double>(static_cast<statistic_t<G>>(elements.at[k]));
          sum += value * value;
        }
      });
      sum = combined<Sum>(block, sum);
      if (block.thread() == 0) sums[chunk] = sum;
    }
  }
};

/// One block adds the chunks' sums as a balanced tree: as the CPU engine does, so that
/// parts of ranks and the whole agree.
template <class G>
struct Kernel<op::SumOfSquares<G>, 1> final {
  static constexpr unsigned threads = 1024;
  op::SumOfSquares<G> o;
  Memory at;

  static constexpr unsigned blocks() { return 1; }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    double* const sums = at.template scratch_of<double>();
    std::size_t count = (o.count + square_chunk - 1) / square_chunk;
    while (count > 1) {
      const std::size_t half = (count + 1) / 2;
      // Neighbours are added into the left one's place of the next level, which nobody reads on this level but its own
      // thread, once all threads have read: in rounds of the block, each behind a barrier.
      for (std::size_t first = 0; first < half; first += block.threads()) {
        const std::size_t i = first + block.thread();
        double sum = 0;
        if (i < half) sum = 2 * i + 1 < count ? sums[2 * i] + sums[2 * i + 1] : sums[2 * i];
        block.sync();
        if (i < half) sums[i] = sum;
        block.sync();
      }
      count = half;
    }
    if (block.thread() == 0 && o.count > 0) *at(o.sum) += sums[0];
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
