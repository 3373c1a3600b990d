// regimen/engine/cpu/nt_xent.hpp — the operations of NtXent: pairs in the order of all ranks' rows, so that it does not
// matter which rank has a row.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen::cpu {
namespace detail {

/// body(k, z_i · z_k) for all rows but i that exist, in their order. The product is the same for i and k.
template <class S, class Body>
void for_pairs(const op::Embeddings<S>& z, const S* all, std::size_t i, const Body& body) {
  for (std::size_t k = 0; k < z.count(); ++k)
    if (k != i && z.exists(all[z.length(k)]))
      body(k, static_cast<double>(dot(all + z.row(i), all + z.row(k), z.columns)));
}

}  // namespace detail

/// z = x / |x|, and |x|: squares, root and quotients in fp64, rounded once. A row that does not exist has length −1 and
/// zeros.
template <class S>
void compute(const op::NormalizeViews<S>& o, const Memory& at) {
  const S* const x = at(o.x);
  const std::int32_t* const target = at(o.target);
  S* const all = at(o.z.all);
  for_each_of(o.z.rows, o.z.columns, [&](std::size_t row) {
    const S* const from = x + row * o.z.columns;
    S *const z = all + o.z.row(o.z.own(row)), &length = all[o.z.length(o.z.own(row))];
    if (row >= 2 * o.samples || target[row / 2] == ignore_index) {
      length = S(-1);
      for (std::size_t i = 0; i < o.z.columns; ++i) z[i] = S(0);
      return;
    }
    const double size = std::sqrt(sum_of<double>(o.z.columns,
                                                 [&](std::size_t i, auto n) {
                                                   const Vector<double> v = load<double>(from + i, n);
                                                   return v * v;
                                                 })),
                 share = size == 0 ? 0.0 : 1 / size;
    length = static_cast<S>(size);
    for (std::size_t i = 0; i < o.z.columns; ++i) z[i] = static_cast<S>(static_cast<double>(from[i]) * share);
  });
}

/// The softmax of row i over all rows k ≠ i, of t_ik = z_i · z_k; in fp64, the products in S. One pass: when a larger t
/// comes, the sum of powers so far is scaled to it. The loss is log Σ exp((t_ik − t_max) / temperature) +
/// (t_max − t_ij) / temperature, j the other view.
///
/// cost   a product for each pair of a row of this rank and any row: nothing of size rows² is stored
template <class S>
void compute(const op::NtXent<S>& o, const Memory& at) {
  const op::Embeddings<S>& z = o.z;
  const S* const all = at(z.all);
  op::SoftmaxRow<S>* const softmax = at(o.softmax);
  const double rest = 1 / o.temperature;
  const auto add = [&](std::size_t row, detail::LossSums& sums) {
    const std::size_t i = z.own(row);
    softmax[z.sum(i)] = {S(0), S(0)};
    if (!z.exists(all[z.length(i)])) return;
    constexpr double none = -std::numeric_limits<double>::infinity();
    double most = none, others = none, sum = 0, wanted = 0;
    detail::for_pairs(z, all, i, [&](std::size_t k, double t) {
      if (k == (i ^ 1)) wanted = t;
      else others = (std::max)(others, t);
      if (t > most) {
        sum = sum * std::exp((most - t) * rest) + 1;
        most = t;
      } else {
        sum += std::exp((t - most) * rest);
      }
    });
    softmax[z.sum(i)] = {static_cast<S>(most), static_cast<S>(1 / sum)};
    sums.loss += std::log(sum) + (most - wanted) * rest;
    sums.count += 1;
    sums.correct += wanted >= others ? 1 : 0;
  };
  detail::sum_losses(z.rows, z.rows * z.count() * z.columns, *at(o.scalars),
                     [&](std::size_t row, std::size_t end, detail::LossSums& sums) {
                       for (; row < end; ++row) add(row, sums);
                     });
}

/// d_i = Σ over k ≠ i of (p_ik + p_ki − 2 [k = j]) z_k, then d_x_i = factor · (d_i − (d_i · z_i) z_i) / |x_i|. p_ki is
/// of row k's softmax: each row reads those of all ranks, and writes its own gradient alone. The products are computed
/// again.
template <class S>
void compute(const op::NtXentBackward<S>& o, const Memory& at) {
  const op::Embeddings<S>& z = o.z;
  const S* const all = at(z.all);
  const op::SoftmaxRow<S>* const softmax = at(o.softmax);
  const double rest = 1 / o.temperature;
  S* const d_x = at(o.d_x);
  const double factor = o.scale * at(o.scalars)->loss_scale / o.temperature;
  const std::size_t rows = 2 * o.samples;
  for_each_of(rows, z.count() * z.columns, [&](std::size_t row) {
    const std::size_t i = z.own(row);
    const S *const own = all + z.row(i), length = all[z.length(i)];
    S* const d = d_x + row * z.columns;
    std::fill_n(d, z.columns, S(0));
    if (!z.exists(length) || length == S(0)) return;
    detail::for_pairs(z, all, i, [&](std::size_t k, double t) {
      const auto p = [&](const op::SoftmaxRow<S>& of) {
        return std::exp((t - static_cast<double>(of.largest)) * rest) * static_cast<double>(of.factor);
      };
      const S weight = static_cast<S>(p(softmax[z.sum(i)]) + p(softmax[z.sum(k)]) - (k == (i ^ 1) ? 2 : 0));
      const S* const other = all + z.row(k);
      for_each_vector<S>(0, z.columns, [&](std::size_t c, auto n) {
        store(load<S>(d + c, n) + load<S>(other + c, n) * weight, d + c, n);
      });
    });
    const S along = dot(d, own, z.columns), share = static_cast<S>(factor / static_cast<double>(length));
    for_each_vector<S>(0, z.columns, [&](std::size_t c, auto n) {
      store((load<S>(d + c, n) - load<S>(own + c, n) * along) * share, d + c, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
