// regimen/kernel/soft_cross_entropy.hpp — cross-entropy with a distribution for each row, whose gradient overwrites the
// logits in the same launch.
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

/// A block takes a row, as it does for CrossEntropy. Where a row of logits begins decides the order of its sums; its
/// target is read 16 bytes at a time only where both begin at the same distance from a multiple of 16 bytes, which is
/// always so in dense rows.
template <bool WithGradient, class S, class D>
struct Kernel<op::SoftCrossEntropy<WithGradient, S, D>, 0> final {
  static constexpr unsigned passes = 2, threads = 1024;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::SoftCrossEntropy<WithGradient, S, D> o;
  Memory at;

  static constexpr std::size_t scratch(const op::SoftCrossEntropy<WithGradient, S, D>& operation) {
    return operation.rows * sizeof(double);
  }  // rows' losses
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
    const float* const weights = o.weight.is_absent() ? nullptr : at(o.weight);
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
template <bool WithGradient, class S, class D>
struct Kernel<op::SoftCrossEntropy<WithGradient, S, D>, 1> final {
  static constexpr unsigned threads = 1024;
  static constexpr std::size_t shared_bytes = combined_bytes<double>;
  op::SoftCrossEntropy<WithGradient, S, D> o;
  Memory at;

  static constexpr unsigned blocks() { return 1; }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    Scalars& scalars = *at(o.scalars);
    detail::add_all(block, at.template scratch_of<double>(), o.rows, &scalars.loss_sum);
    double count = static_cast<double>(o.rows);
    if (o.masked || !o.weight.is_absent()) {
      const S* const targets = at(o.target);
      const float* const weights = o.weight.is_absent() ? nullptr : at(o.weight);
      count = 0;
      for (std::size_t row = block.thread(); row < o.rows; row += block.threads())
        count += o.masked && is_nan(targets[row * o.columns]) ? 0
                 : weights == nullptr                         ? 1
                                                              : op::count_of_weight(double(weights[row]));
      count = combined<Sum>(block, count);
    }
    if (block.thread() == 0) scalars.count += count;
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
