// regimen/kernel/cross_entropy.hpp — softmax cross-entropy with a class or a distribution for each row, whose gradient
// overwrites the logits in the same launch.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/rows.hpp>
#include <regimen/kernel/step.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen::kernel {

/// A block takes a row, 16 bytes at a time wherever it begins: 50257 classes are a multiple of nothing. So many
/// threads, because a row is read twice: few rows are open at once, and the second-level cache keeps more of them. Two
/// blocks a multiprocessor: on an H200 16384 rows of 50257 logits took 2.2 ms with a gradient of 16 bits, with one
/// block 2.7. A target outside [0, columns) that is not ignore_index makes the row's loss, and its gradient, NaN.
template <bool WithGradient, class S, class D>
struct Kernel<op::CrossEntropy<WithGradient, S, D>, 0> final {
  static constexpr unsigned passes = 2, threads = 1024, resident = sizeof(S) == 4 ? 2 : 0;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::CrossEntropy<WithGradient, S, D> o;
  Memory at;

  /// Of the rows' losses.
  static constexpr std::size_t scratch(const op::CrossEntropy<WithGradient, S, D>& operation) {
    return operation.rows * sizeof(double);
  }
  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const logits = at(o.logits);
    const std::int32_t* const targets = at(o.target);
    double* const losses = at.template scratch_of<double>();
    const float* const weights = at.optional(o.weight);
    const S unweighted = static_cast<S>(o.scale * at(o.scalars)->loss_scale);
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      S* const values = logits + row * o.row();
      const std::int32_t target = targets[row];
      const double weight = weights == nullptr ? 1 : static_cast<double>(weights[row]);
      const S factor = unweighted * static_cast<S>(weight);
      if (weight == 0 || target < 0 || static_cast<std::size_t>(target) >= o.columns) {
        fill(block, values, losses[row],
             weight == 0 || target == ignore_index ? S(0) : std::numeric_limits<S>::quiet_NaN());
        continue;
      }
      // The largest number so far, from the least that is finite on: no difference of two infinities. A thread's sum is
      // of powers beside its own.
      S own = std::numeric_limits<S>::lowest(), total = S(0);
      for_row(block, values, o.columns, [&]<unsigned n>(std::size_t i) {
        const auto x = detail::read<n>(values + i);
        S next = own;
        for (unsigned k = 0; k < n; ++k) next = Largest{}(next, x.at[k]);
        if (next != own) total *= std::exp(own - next);
        own = next;
        for (unsigned k = 0; k < n; ++k) total += std::exp(x.at[k] - own);
      });
      const S most = combined<Largest>(block, own);
      const S at_target = values[target] - most;  // read before the barriers below, behind which it is overwritten
      if (own != most) total *= std::exp(own - most);
      total = combined<Sum>(block, total);
      S shifted = S(0);
      if (o.smoothing != 0) {
        for_row(block, values, o.columns, [&]<unsigned n>(std::size_t i) {
          const auto x = detail::read<n>(values + i);
          for (unsigned k = 0; k < n; ++k) shifted += x.at[k] - most;
        });
        shifted = combined<Sum>(block, shifted);
      }
      const double spread = o.smoothing / static_cast<double>(o.columns);
      if constexpr (WithGradient) {
        const S scale = factor / total, everywhere = static_cast<S>(spread) * factor,
                there = static_cast<S>(1 - o.smoothing) * factor;
        overwrite_row<D>(block, values, o.columns, [&]<unsigned n>(std::size_t i, Pack<S, n> x) {
          for (unsigned k = 0; k < n; ++k) {
            const S gradient = std::exp(x.at[k] - most) * scale - everywhere;
            x.at[k] = i + k == static_cast<std::size_t>(target) ? gradient - there : gradient;
          }
          return x;
        });
      }
      if (block.thread() == 0)
        losses[row] =
            weight * (std::log(static_cast<double>(total)) - (1 - o.smoothing) * static_cast<double>(at_target) -
                      (o.smoothing != 0 ? spread * static_cast<double>(shifted) : 0.0));
    }
  }

 private:
  /// The gradients and the loss of a row without a target in range.
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void fill(const Block& block, S* values, double& loss, S value) const {
    if constexpr (WithGradient)
      overwrite_row<D>(block, values, o.columns, [&]<unsigned n>(std::size_t, const Pack<S, n>&) {
        Pack<S, n> filled;
        for (unsigned k = 0; k < n; ++k) filled.at[k] = value;
        return filled;
      });
    if (block.thread() == 0) loss = static_cast<double>(value);
  }
};

/// One block adds the rows' losses, and counts the valid rows.
REGIMEN_HD_UNCHECKED
template <class Block, bool WithGradient, class S, class D>
REGIMEN_HD void add_up(const Block& block, const op::CrossEntropy<WithGradient, S, D>& o, const Memory& at) {
  const double* const losses = at.template scratch_of<double>();
  const std::int32_t* const targets = at(o.target);
  const float* const weights = at.optional(o.weight);
  const double loss = detail::sum_of(block, o.rows, [&](std::size_t row) { return losses[row]; });
  const double count = detail::sum_of(block, o.rows, [&](std::size_t row) {
    return targets[row] == ignore_index ? 0 : detail::count_of(weights, row);
  });
  if (block.thread() != 0) return;
  at(o.scalars)->loss_sum += loss;
  at(o.scalars)->count += count;
}

/// A block takes a row, as it does for CrossEntropy. Where a row of logits begins decides the order of its sums; its
/// target is read 16 bytes at a time only where both begin at the same distance from a multiple of 16 bytes, which is
/// always so in dense rows.
template <bool WithGradient, class S, class D>
struct Kernel<op::SoftCrossEntropy<WithGradient, S, D>, 0> final {
  static constexpr unsigned passes = 2, threads = 1024;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::SoftCrossEntropy<WithGradient, S, D> o;
  Memory at;

  /// Of the rows' losses.
  static constexpr std::size_t scratch(const op::SoftCrossEntropy<WithGradient, S, D>& operation) {
    return operation.rows * sizeof(double);
  }
  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }

  /// Neighbours of a target.   together   they begin at a multiple of 16 bytes, if there are several
  REGIMEN_HD_UNCHECKED
  template <unsigned n>
  REGIMEN_HD static Pack<S, n> wanted(const S* from, bool together) {
    if (together) return detail::read<n>(from);
    Pack<S, n> result;
    for (unsigned k = 0; k < n; ++k) result.at[k] = from[k];
    return result;
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const logits = at(o.logits);
    const S* const targets = at(o.target);
    double* const losses = at.template scratch_of<double>();
    const float* const weights = at.optional(o.weight);
    const S unweighted = static_cast<S>(o.scale * at(o.scalars)->loss_scale);
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      const double weight = weights == nullptr ? 1 : static_cast<double>(weights[row]);
      const S factor = unweighted * static_cast<S>(weight);
      S* const values = logits + row * o.row();
      const S* const target = targets + row * o.columns;
      if ((o.masked && is_nan(*target)) || weight == 0) {
        if constexpr (WithGradient)
          overwrite_row<D>(block, values, o.columns,
                           [&]<unsigned n>(std::size_t, const Pack<S, n>&) { return Pack<S, n>{}; });
        if (block.thread() == 0) losses[row] = 0;
        continue;
      }
      const bool together =
          reinterpret_cast<std::uintptr_t>(values) % 16 == reinterpret_cast<std::uintptr_t>(target) % 16;
      S most = -std::numeric_limits<S>::infinity();
      for_row(block, values, o.columns, [&]<unsigned n>(std::size_t i) {
        const auto x = detail::read<n>(values + i);
        for (unsigned k = 0; k < n; ++k) most = Largest{}(most, x.at[k]);
      });
      most = combined<Largest>(block, most);
      S total = S(0), mass = S(0), product = S(0);
      for_row(block, values, o.columns, [&]<unsigned n>(std::size_t i) {
        const auto x = detail::read<n>(values + i);
        const auto p = wanted<n>(target + i, together);
        for (unsigned k = 0; k < n; ++k) {
          total += std::exp(x.at[k] - most);
          mass += p.at[k];
          product += p.at[k] == S(0) ? S(0) : p.at[k] * (x.at[k] - most);
        }
      });
      total = combined<Sum>(block, total);
      mass = combined<Sum>(block, mass);
      product = combined<Sum>(block, product);
      if constexpr (WithGradient) {
        const S scale = mass * factor / total;
        overwrite_row<D>(block, values, o.columns, [&]<unsigned n>(std::size_t i, Pack<S, n> x) {
          const auto p = wanted<n>(target + i, together);
          for (unsigned k = 0; k < n; ++k) x.at[k] = std::exp(x.at[k] - most) * scale - p.at[k] * factor;
          return x;
        });
      }
      if (block.thread() == 0)
        losses[row] =
            weight * (static_cast<double>(mass) * std::log(static_cast<double>(total)) - static_cast<double>(product));
    }
  }
};

/// One block adds the rows' losses, and counts the rows.
REGIMEN_HD_UNCHECKED
template <class Block, bool WithGradient, class S, class D>
REGIMEN_HD void add_up(const Block& block, const op::SoftCrossEntropy<WithGradient, S, D>& o, const Memory& at) {
  const double* const losses = at.template scratch_of<double>();
  const S* const targets = at(o.target);
  const float* const weights = at.optional(o.weight);
  const double loss = detail::sum_of(block, o.rows, [&](std::size_t row) { return losses[row]; });
  double count = static_cast<double>(o.rows);
  if (o.masked || weights != nullptr)
    count = detail::sum_of(block, o.rows, [&](std::size_t row) {
      return o.masked && is_nan(targets[row * o.columns]) ? 0 : detail::count_of(weights, row);
    });
  if (block.thread() != 0) return;
  at(o.scalars)->loss_sum += loss;
  at(o.scalars)->count += count;
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
