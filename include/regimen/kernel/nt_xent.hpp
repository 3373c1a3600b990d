// regimen/kernel/nt_xent.hpp — the operations of NtXent: a block takes a row, its threads take the rows it is compared
// with.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/step.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

namespace regimen::kernel {

namespace detail {

/// The product of a row and one that it is compared with, by one thread; the same the other way round.
REGIMEN_HD_UNCHECKED
template <class S>
REGIMEN_HD S similarity(const S* a, const S* b, std::size_t columns) {
  S sum = S(0);
  for (std::size_t c = 0; c < columns; ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace detail

/// z = x / |x| and |x|, of the rows of this rank; lengths in fp64, rounded once. A block takes a row: its threads add
/// squares of columns, then divide their columns. Rows that do not exist become 0, with length −1.
///
/// cost   x twice, the second time from the caches; z once
template <class S>
struct Kernel<op::NormalizeViews<S>> final {
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<double>;
  op::NormalizeViews<S> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.z.rows, 1); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const all = at(o.z.all);
    for (std::size_t row = block.index(); row < o.z.rows; row += block.blocks()) {
      const bool exists = row < 2 * o.samples && at(o.target)[row / 2] != ignore_index;
      const S* const x = at(o.x) + row * o.z.columns;
      S* const z = all + o.z.row(o.z.own(row));
      double squares = 0;
      if (exists)
        for (std::size_t c = block.thread(); c < o.z.columns; c += block.threads())
          squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
      const double size = std::sqrt(combined<Sum>(block, squares)), share = size == 0 ? 0.0 : 1 / size;
      for (std::size_t c = block.thread(); c < o.z.columns; c += block.threads())
        z[c] = exists ? static_cast<S>(static_cast<double>(x[c]) * share) : S(0);
      if (block.thread() == 0) all[o.z.length(o.z.own(row))] = exists ? static_cast<S>(size) : S(-1);
    }
  }
};

/// The softmax of a row, its loss, and whether its other view is the nearest row: with t_ik = z_i · z_k, the loss is
/// log Σ exp((t_ik − t_max) / temperature) + (t_max − t_ij) / temperature, j the other view; k ≠ i, and k exists.
///
/// A block takes row i, its threads every 256th row k. A thread keeps the largest t so far and the sum of powers beside
/// it, and scales the sum when a larger one comes; at the end all sums are scaled to the block's largest. So each t is
/// computed once.
///
/// cost   all rows once for each row of this rank, by threads that read a row each: from the caches
template <class S>
struct Kernel<op::NtXent<S>, 0> final {
  static constexpr unsigned passes = 2, threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::NtXent<S> o;
  Memory at;

  static constexpr std::size_t scratch(const op::NtXent<S>& operation) {
    return 2 * operation.z.rows * sizeof(double);
  }  // rows' losses; 1 for those whose other view is the nearest
  constexpr unsigned blocks() const { return blocks_for(o.z.rows, 1); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    constexpr S none = -std::numeric_limits<S>::infinity();
    const S* const all = at(o.z.all);
    double* const losses = at.template scratch_of<double>();
    const S share = static_cast<S>(1 / o.temperature);
    for (std::size_t row = block.index(); row < o.z.rows; row += block.blocks()) {
      const std::size_t i = o.z.own(row);
      const S* const own = all + o.z.row(i);
      const bool exists = o.z.exists(all[o.z.length(i)]);
      S most = none, others = none, sum = S(0), wanted = S(0);
      if (exists)
        for (std::size_t k = block.thread(); k < o.z.count(); k += block.threads()) {
          if (k == i || !o.z.exists(all[o.z.length(k)])) continue;
          const S t = detail::similarity(own, all + o.z.row(k), o.z.columns);
          if (k == (i ^ 1)) wanted = t;
          else others = Largest{}(others, t);
          const S next = Largest{}(most, t);
          sum = (most == none ? S(0) : sum * std::exp((most - next) * share)) + std::exp((t - next) * share);
          most = next;
        }
      const S largest = combined<Largest>(block, most);
      sum = combined<Sum>(block, most == none ? S(0) : sum * std::exp((most - largest) * share));
      wanted = combined<Sum>(block, wanted);
      others = combined<Largest>(block, others);
      if (block.thread() == 0) {
        const double behind = (static_cast<double>(largest) - static_cast<double>(wanted)) / o.temperature;
        at(o.softmax)[o.z.sum(i)] = exists ? op::SoftmaxRow<S>{largest, S(1) / sum} : op::SoftmaxRow<S>{S(0), S(0)};
        losses[row] = exists ? std::log(static_cast<double>(sum)) + behind : 0.0;
        losses[o.z.rows + row] = exists && wanted >= others ? 1.0 : 0.0;
      }
    }
  }
};

/// One block adds the rows' losses, the rows whose other view is the nearest, and the rows that exist, in fp64.
REGIMEN_HD_UNCHECKED
template <class Block, class S>
REGIMEN_HD void add_up(const Block& block, const op::NtXent<S>& o, const Memory& at) {
  const S* const all = at(o.z.all);
  const double* const losses = at.template scratch_of<double>();
  const std::size_t rows = o.z.rows;
  const double loss = detail::sum_of(block, rows, [&](std::size_t row) { return losses[row]; });
  const double correct = detail::sum_of(block, rows, [&](std::size_t row) { return losses[rows + row]; });
  const double count =
      detail::sum_of(block, rows, [&](std::size_t row) { return o.z.exists(all[o.z.length(o.z.own(row))]) ? 1 : 0; });
  if (block.thread() != 0) return;
  at(o.scalars)->loss_sum += loss;
  at(o.scalars)->correct += correct;
  at(o.scalars)->count += count;
}

/// d_x_i = factor · (d_i − (d_i · z_i) z_i) / |x_i|,  d_i = Σ over k ≠ i of w_ik z_k,  w_ik = p_ik + p_ki, less 2 for
/// the other view; both p from the saved softmax of their rows, with the product computed again.
///
/// A block takes a row. Threads compute the weights of as many rows as there are threads, then each adds these rows for
/// its columns: d_x itself holds d_i meanwhile, so each number has one thread and one order.
///
/// cost   all rows twice for each row of this rank, from the caches
template <class S>
struct Kernel<op::NtXentBackward<S>> final {
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<S> + threads * sizeof(S);
  op::NtXentBackward<S> o;
  Memory at;

  constexpr unsigned blocks() const { return o.samples == 0 ? 0 : blocks_for(2 * o.samples, 1); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const S* const all = at(o.z.all);
    const op::SoftmaxRow<S>* const softmax = at(o.softmax);
    auto weights = block.template shared<S>(combined_bytes<S>, block.threads());
    const S share = static_cast<S>(1 / o.temperature);
    const double factor = o.scale * at(o.scalars)->loss_scale / o.temperature;
    for (std::size_t row = block.index(); row < 2 * o.samples; row += block.blocks()) {
      const std::size_t i = o.z.own(row);
      const S *const own = all + o.z.row(i), length = all[o.z.length(i)];
      S* const d = at(o.d_x) + row * o.z.columns;
      for (std::size_t c = block.thread(); c < o.z.columns; c += block.threads()) d[c] = S(0);
      if (!o.z.exists(length) || length == S(0)) continue;  // all threads of the block alike
      for (std::size_t first = 0; first < o.z.count(); first += block.threads()) {
        const std::size_t k = first + block.thread();
        S weight = S(0);
        if (k < o.z.count() && k != i && o.z.exists(all[o.z.length(k)])) {
          const S t = detail::similarity(own, all + o.z.row(k), o.z.columns);
          const op::SoftmaxRow<S> of_i = softmax[o.z.sum(i)], of_k = softmax[o.z.sum(k)];
          weight = std::exp((t - of_i.largest) * share) * of_i.factor +
                   std::exp((t - of_k.largest) * share) * of_k.factor - S(k == (i ^ 1) ? 2 : 0);
        }
        weights[block.thread()] = weight;
        block.sync();
        const std::size_t left = o.z.count() - first, count = left < block.threads() ? left : block.threads();
        for (std::size_t c = block.thread(); c < o.z.columns; c += block.threads()) {
          S sum = d[c];
          for (std::size_t n = 0; n < count; ++n) sum += static_cast<S>(weights[n]) * all[o.z.row(first + n) + c];
          d[c] = sum;
        }
        block.sync();
      }
      S along = S(0);
      for (std::size_t c = block.thread(); c < o.z.columns; c += block.threads()) along += d[c] * own[c];
      along = combined<Sum>(block, along);
      const S by = static_cast<S>(factor / static_cast<double>(length));
      for (std::size_t c = block.thread(); c < o.z.columns; c += block.threads()) d[c] = (d[c] - own[c] * along) * by;
    }
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
