// regimen/core/operation/nt_xent.hpp — the operations of NtXent, a loss that compares all embeddings of a batch.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/operation/softmax_row.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::op {

/// The embeddings of all ranks, a slice for each rank: `rows` unit vectors of `columns` elements, then their lengths
/// before they were divided by them. Rows 2 s and 2 s + 1 are the two views of a sample. Rows that do not exist have
/// the length −1: those of a short batch, and of samples whose target is ignore_index.
///   slice, sum_slice   elements from one rank's rows to the next one's, here and in an array of a number for each row
template <class S>
struct Embeddings final {
  View<S> all{};
  std::size_t ranks = 1, rank = 0, rows = 0, columns = 0, slice = 0, sum_slice = 0;

  REGIMEN_HD constexpr std::size_t count() const { return ranks * rows; }
  REGIMEN_HD constexpr std::size_t row(std::size_t k) const { return k / rows * slice + k % rows * columns; }
  REGIMEN_HD constexpr std::size_t length(std::size_t k) const { return k / rows * slice + rows * columns + k % rows; }
  REGIMEN_HD constexpr std::size_t sum(std::size_t k) const { return k / rows * sum_slice + k % rows; }
  REGIMEN_HD constexpr std::size_t own(std::size_t i) const { return rank * rows + i; }
  /// A length that is not a number is a row's: its loss is not a number either.
  REGIMEN_HD static constexpr bool exists(S length) { return !(length < S(0)); }
};

/// z = x / |x| for the rows of this rank, and their lengths; 0 / |0| = 0     x (2 samples,columns) S, target (samples)
template <class S>
struct NormalizeViews final {
  static constexpr const char* name = "normalize_views";
  View<S> x;
  View<std::int32_t> target;
  Embeddings<S> z{};
  std::size_t samples = 0;

  constexpr Cost cost() const {
    const double elements = double(z.rows * z.columns);
    return {3 * elements, 2 * elements * sizeof(S), 1};
  }
};

/// For each row i of this rank, with t_ik = z_i · z_k / temperature: the softmax of its products, whose scale is
/// 1 / temperature. Adds the losses log Σ_{k≠i} exp t_ik − t_ij, j the other view of i's sample, to scalars.loss_sum,
/// the rows to count, and those whose largest t is that of j to correct.     softmax (ranks,sum_slice), of which this
/// rank's are written
template <class S>
struct NtXent final {
  static constexpr const char* name = "nt_xent";
  Embeddings<S> z{};
  View<SoftmaxRow<S>> softmax;
  View<Scalars> scalars;
  double temperature = 1;

  constexpr Cost cost() const {
    const double products = double(z.rows) * double(z.count());
    return {products * (2 * double(z.columns) + 4), double(z.count() * z.columns) * sizeof(S), 1};
  }
};

/// d_x_i = factor · (d_i − (d_i · z_i) z_i) / |x_i|,  d_i = Σ_{k≠i} (p_ik + p_ki) z_k − 2 z_j, p of each row's softmax,
/// factor = scale · scalars.loss_scale / temperature: the gradient of the losses of all ranks, for the rows of this
/// one. 0 where |x_i| = 0 and where the row does not exist     d_x (2 samples,columns) S
template <class S>
struct NtXentBackward final {
  static constexpr const char* name = "nt_xent_backward";
  Embeddings<S> z{};
  View<SoftmaxRow<S>> softmax;
  View<S> d_x;
  View<Scalars> scalars;
  std::size_t samples = 0;
  double temperature = 1, scale = 1;

  constexpr Cost cost() const {
    const double products = double(z.rows) * double(z.count());
    return {products * (4 * double(z.columns) + 6), double((z.count() + z.rows) * z.columns) * sizeof(S), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
