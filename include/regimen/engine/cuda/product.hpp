// regimen/engine/cuda/product.hpp — op::Product in the terms of cuBLASLt.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::cuda {

/// A row-major matrix is the column-major matrix of its transpose. So c = op(a) · op(b) is asked as cᵀ = op(b)ᵀ ·
/// op(a)ᵀ: b is the library's A, a its B, and all three are column-major with the row's length as leading dimension.
template <class A, class B, class C>
constexpr ProductDescriptor describe(const op::Product<A, B, C>& o, std::size_t workspace) {
  const auto layout = []<class T>(std::type_identity<T>, std::size_t rows, std::size_t columns) {
    return Layout{
        .type = element_type_of<T>, .rows = columns, .columns = rows, .leading = static_cast<std::int64_t>(columns)};
  };
  return {.a = o.transpose_b ? layout(std::type_identity<B>{}, o.n, o.k) : layout(std::type_identity<B>{}, o.k, o.n),
          .b = o.transpose_a ? layout(std::type_identity<A>{}, o.k, o.m) : layout(std::type_identity<A>{}, o.m, o.k),
          .d = layout(std::type_identity<C>{}, o.m, o.n),
          .transpose_a = o.transpose_b,
          .transpose_b = o.transpose_a,
          .wide = std::is_same_v<statistic_t<A>, fp64>,
          .workspace = workspace};
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
