// regimen/engine/cuda/product.hpp — op::Product, and many of one form at once, in the terms of cuBLASLt.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::cuda {

/// Row-major matrices as they are stored: `leading` elements from row to row, and `stride` from one of the `count`
/// matrices to the next.
struct Rows {
  std::size_t rows = 0, columns = 0, leading = columns;
  std::size_t count = 1, stride = 0;
};

/// c = op(a) · op(b), where op transposes or does not. A row-major matrix is the column-major matrix of its transpose.
/// So this is asked as cᵀ = op(b)ᵀ · op(a)ᵀ: b is the library's A, a its B.
template <class A, class B, class C>
constexpr ProductDescriptor describe(const Rows& a, bool transpose_a, const Rows& b, bool transpose_b, const Rows& c,
                                     std::size_t workspace) {
  const auto layout = []<class T>(std::type_identity<T>, const Rows& rows) {
    return Layout{.type = element_type_of<T>,
                  .rows = rows.columns,
                  .columns = rows.rows,
                  .leading = static_cast<std::int64_t>(rows.leading),
                  .stride = static_cast<std::int64_t>(rows.stride),
                  .count = static_cast<std::int32_t>(rows.count)};
  };
  return {.a = layout(std::type_identity<B>{}, b),
          .b = layout(std::type_identity<A>{}, a),
          .d = layout(std::type_identity<C>{}, c),
          .transpose_a = transpose_b,
          .transpose_b = transpose_a,
          .wide = std::is_same_v<statistic_t<A>, fp64>,
          .workspace = workspace};
}
template <class A, class B, class C>
constexpr ProductDescriptor describe(const op::Product<A, B, C>& o, std::size_t workspace) {
  const auto stored = [](std::size_t rows, std::size_t columns, bool transposed) {
    return transposed ? Rows{.rows = columns, .columns = rows} : Rows{.rows = rows, .columns = columns};
  };
  return describe<A, B, C>(stored(o.m, o.k, o.transpose_a), o.transpose_a, stored(o.k, o.n, o.transpose_b),
                           o.transpose_b, {.rows = o.m, .columns = o.n}, workspace);
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
