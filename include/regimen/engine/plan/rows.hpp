// regimen/engine/plan/rows.hpp — products whose matrices tensor cores read slowly, because their rows are not aligned.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/path.hpp>

#include <array>
#include <cstddef>

namespace regimen::planning {

/// A matrix of a product whose rows do not all begin at multiples of 16 bytes.
///   element   bytes of one
///   bytes     that its rows would take more, if each were filled up; 0 if only its begin is not aligned
struct UnalignedRows {
  LayerPath path{};  // of the layer that multiplies
  std::size_t columns = 0, element = 0, bytes = 0;

  constexpr std::size_t row_bytes() const { return columns * element; }
  /// The next number of columns whose rows are aligned.
  constexpr std::size_t enough() const { return (row_bytes() + 15) / 16 * 16 / element; }
};

/// The products of a walk: those with unaligned rows, and of these the first few layers.
struct ProductRows {
  std::array<UnalignedRows, 4> first{};
  std::size_t count = 0;

  template <class A, class B, class C>
  static constexpr double flops_of(const op::Product<A, B, C>& o) {
    return o.cost().flops;
  }
  template <class A, class B, class C, class Activation, bool backward>
  static constexpr double flops_of(const op::ProductEpilogue<A, B, C, Activation, backward>& o) {
    return o.product.cost().flops;
  }
  template <class A, class B, class C>
  static constexpr double flops_of(const op::ProductSum<A, B, C>& o) {
    return o.product.cost().flops;
  }
  static constexpr double flops_of(const auto&) { return 0; }
  /// Whether a product has such a matrix. The wider of two factors is copied to rows that are aligned first.
  template <class A, class B, class C>
  constexpr bool look_at(const op::Product<A, B, C>& o, const LayerPath& path) {
    bool found = look_at(path, o.c.offset, o.m, o.row_of_c(), sizeof(C));
    if constexpr (sizeof(A) <= sizeof(B))
      found |= look_at(path, o.a.offset, o.transpose_a ? o.k : o.m, o.row_of_a(), sizeof(A));
    if constexpr (sizeof(B) <= sizeof(A))
      found |= look_at(path, o.b.offset, o.transpose_b ? o.n : o.k, o.transpose_b ? o.k : o.n, sizeof(B));
    return found;
  }
  template <class A, class B, class C, class Activation, bool backward>
  constexpr bool look_at(const op::ProductEpilogue<A, B, C, Activation, backward>& o, const LayerPath& path) {
    return look_at(o.product, path);
  }
  template <class A, class B, class C>
  constexpr bool look_at(const op::ProductSum<A, B, C>& o, const LayerPath& path) {
    return look_at(o.product, path);
  }
  constexpr bool look_at(const auto&, const LayerPath&) { return false; }

 private:
  constexpr bool look_at(const LayerPath& path, std::size_t offset, std::size_t rows, std::size_t columns,
                         std::size_t element) {
    UnalignedRows found{path, columns, element, 0};
    found.bytes = rows * (found.enough() * element - found.row_bytes());
    if (offset % 16 == 0 && found.bytes == 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
      UnalignedRows& known = first[i];
      if (known.path.digits != path.digits || known.columns != columns || known.element != element) continue;
      known.bytes = known.bytes > found.bytes ? known.bytes : found.bytes;
      return true;
    }
    if (count < first.size()) first[count++] = found;
    return true;
  }
};

}  // namespace regimen::planning
// SPDX-License-Identifier: Apache-2.0
