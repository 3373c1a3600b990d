// regimen/engine/cpu/matrix_product.hpp — what the products of the CPU multiply.
#pragma once

#include <cstddef>

namespace regimen::cpu {

/// c = op(a) · op(b), or c += if `add`, as op::Product describes; row-major
///   lda, ldb, ldc   elements from row to row, as the matrix is stored; dense unless said
template <class A, class B = A, class C = A>
struct MatrixProduct final {
  const A* a;
  const B* b;
  C* c;
  std::size_t m, n, k;
  bool transpose_a = false, transpose_b = false, add = false;
  std::size_t lda = transpose_a ? m : k, ldb = transpose_b ? k : n, ldc = n;

  /// What gives `rows` and `columns` of c, from row i and column j on.
  constexpr MatrixProduct part(std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) const {
    MatrixProduct some = *this;
    some.a += i * (transpose_a ? 1 : lda), some.b += j * (transpose_b ? ldb : 1), some.c += i * ldc + j;
    some.m = rows, some.n = columns;
    return some;
  }
  /// `count` of the k terms from p on, which are added to those before.
  constexpr MatrixProduct terms(std::size_t p, std::size_t count) const {
    MatrixProduct some = *this;
    some.a += p * (transpose_a ? lda : 1), some.b += p * (transpose_b ? 1 : ldb);
    some.k = count, some.add = add || p > 0;
    return some;
  }
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
