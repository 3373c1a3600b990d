// regimen/engine/cuda/product.hpp — op::Product, and many of one form at once, in the terms of cuBLASLt.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::cuda {

/// Row-major matrices as they are stored: `leading` elements from row to row, and `stride` from one of the `count`
/// matrices to the next. The first begins at a multiple of `alignment` bytes.
struct Rows {
  std::size_t rows = 0, columns = 0, leading = columns;
  std::size_t count = 1, stride = 0;
  std::uint32_t alignment = 256;
};
/// What divides a number of bytes from the arena's begin: the library chooses another algorithm for what does not begin
/// at multiples of 16.
constexpr std::uint32_t alignment_of(std::size_t bytes) { return std::uint32_t{1} << std::countr_zero(bytes | 256); }

/// Products of one form, of matrices that lie in tensors: c = op(a) · op(b) for each.
template <class A, class B, class C>
struct ManyProducts {
  static constexpr const char* name = "products";
  View<A> a{};
  Rows a_rows{};
  bool transpose_a = false;
  View<B> b{};
  Rows b_rows{};
  bool transpose_b = false;
  View<C> c{};
  Rows c_rows{};
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
                  .count = static_cast<std::int32_t>(rows.count),
                  .alignment = rows.alignment};
  };
  return {.a = layout(std::type_identity<B>{}, b),
          .b = layout(std::type_identity<A>{}, a),
          .d = layout(std::type_identity<C>{}, c),
          .transpose_a = transpose_b,
          .transpose_b = transpose_a,
          .wide = std::is_same_v<statistic_t<A>, fp64>,
          .reads_tf32 = std::is_same_v<A, tf32>,
          .workspace = workspace};
}
template <class A, class B, class C>
constexpr ProductDescriptor describe(const op::Product<A, B, C>& o, std::size_t workspace) {
  const auto stored = [](std::size_t rows, std::size_t columns, std::size_t leading, std::size_t offset) {
    return Rows{.rows = rows, .columns = columns, .leading = leading, .alignment = alignment_of(offset)};
  };
  const Rows b = o.transpose_b ? stored(o.n, o.k, o.k, o.b.offset) : stored(o.k, o.n, o.n, o.b.offset);
  return describe<A, B, C>(stored(o.transpose_a ? o.k : o.m, o.transpose_a ? o.m : o.k, o.row_of_a(), o.a.offset),
                           o.transpose_a, b, o.transpose_b, stored(o.m, o.n, o.row_of_c(), o.c.offset), workspace);
}
template <class A, class B, class C>
constexpr ProductDescriptor describe(const ManyProducts<A, B, C>& o, std::size_t workspace) {
  const auto aligned = []<class T>(View<T> first, Rows rows) {
    rows.alignment = alignment_of(first.offset | (rows.stride * sizeof(T)));
    return rows;
  };
  return describe<A, B, C>(aligned(o.a, o.a_rows), o.transpose_a, aligned(o.b, o.b_rows), o.transpose_b,
                           aligned(o.c, o.c_rows), workspace);
}

/// Says the epilogue, if there is one. Its tensors are row-major, so they are the columns of D, as aux is.
template <class A, class B, class C>
constexpr void describe_epilogue(const op::Product<A, B, C>&, ProductDescriptor&) {}
template <class A, class B, class C, class Activation, bool backward>
constexpr void describe_epilogue(const op::ProductEpilogue<A, B, C, Activation, backward>& o,
                                 ProductDescriptor& descriptor) {
  constexpr bool gelu = std::is_same_v<Activation, activation::GeluTanh>;
  static_assert(gelu || (std::is_same_v<Activation, activation::Identity> && !backward));
  descriptor.epilogue = backward          ? Epilogue::dgelu
                        : !gelu           ? Epilogue::bias
                        : o.x.is_absent() ? Epilogue::gelu_bias
                                          : Epilogue::gelu_aux_bias;
  if (reads_bias(descriptor.epilogue)) descriptor.bias_alignment = alignment_of(o.bias.offset);
  if (!has_aux(descriptor.epilogue)) return;
  descriptor.aux_alignment = alignment_of(o.x.offset);
  descriptor.aux_leading = static_cast<std::int64_t>(o.product.n);
}
/// Also says where C lies.
template <class A, class B, class C>
constexpr void describe_epilogue(const op::ProductSum<A, B, C>& o, ProductDescriptor& descriptor) {
  descriptor.c_alignment = alignment_of(o.onto.offset);
  if (o.bias.is_absent()) return;
  descriptor.epilogue = Epilogue::bias;
  descriptor.bias_alignment = alignment_of(o.bias.offset);
}

/// An operation that is a product, or has one with an epilogue.
template <class Operation>
concept IsProduct = requires(const Operation& o, ProductDescriptor& descriptor) { describe_epilogue(o, descriptor); };
template <IsProduct Operation>
constexpr const auto& product_of(const Operation& o) {
  if constexpr (requires { o.product; }) return o.product;
  else return o;
}
template <IsProduct Operation>
constexpr ProductDescriptor describe(const Operation& o, std::size_t workspace) {
  ProductDescriptor descriptor = describe(o.product, workspace);
  describe_epilogue(o, descriptor);
  return descriptor;
}

/// A part of a product: the descriptor of a product, and where its matrices begin, in bytes from those of the whole.
struct ProductPart {
  ProductDescriptor descriptor{};
  std::size_t a = 0, b = 0, d = 0;
  bool adds = false;  // to what a part before it has left in D
};

/// each(part): the whole, or, of a product of at least so many flops by tensor cores, what its extents have of whole 16
/// bytes, and the rest. Where rows have 50,257 numbers the library takes kernels that load each number by itself, also
/// if the rows begin at multiples of 16 bytes. On an H200 the three products of 16,384 tokens of width 768 with so many
/// words took 13.3, 9.5 and 2.9 ms in bf16, and in parts 2.4, 1.8 and 1.9; a rest of 2,000 words in place of one took
/// the last 5.1.
///
/// error   where the terms of a sum are cut, the sum of the rest, at most 7 terms in 16 bits, is rounded to D's type
///         once more
constexpr void for_each_part(const ProductPart& whole, double least_flops, const auto& each) {
  const ProductDescriptor& p = whole.descriptor;
  const std::size_t bytes = bytes_of(p.a.type), line = 16 / bytes, m = p.d.rows, n = p.d.columns,
                    k = p.transpose_a ? p.a.rows : p.a.columns;
  const bool by_tensor_cores = bytes == 2 || p.reads_tf32;
  const auto is_ragged = [&](std::size_t extent) { return by_tensor_cores && extent % line != 0 && extent > line; };
  const bool cuts_k = is_ragged(k) && (p.transpose_a || !p.transpose_b), cuts_m = is_ragged(m),
             cuts_n = is_ragged(n) && p.transpose_b;
  if (p.d.count != 1 || p.epilogue != Epilogue::none || 2.0 * double(m) * double(n) * double(k) < least_flops ||
      !(cuts_k || cuts_m || cuts_n))
    return each(whole);
  const std::size_t at = (cuts_k ? k : cuts_m ? m : n) / line * line;
  ProductPart first = whole, rest = whole;
  /// Cuts a matrix at its row or column `at`; gives how many bytes lie before the rest.
  const auto cut = [&](Layout ProductDescriptor::* of, bool is_row) {
    const Layout& matrix = p.*of;
    const std::size_t before = (is_row ? at : at * static_cast<std::size_t>(matrix.leading)) * bytes_of(matrix.type);
    Layout &head = first.descriptor.*of, &tail = rest.descriptor.*of;
    (is_row ? head.rows : head.columns) = at;
    (is_row ? tail.rows : tail.columns) -= at;
    tail.alignment = alignment_of(before | tail.alignment);
    return before;
  };
  if (cuts_k || cuts_m) rest.a += cut(&ProductDescriptor::a, p.transpose_a == cuts_k);
  if (cuts_k || !cuts_m) rest.b += cut(&ProductDescriptor::b, p.transpose_b != cuts_k);
  if (cuts_k) {
    first.adds = true, first.descriptor.c_alignment = 0;  // its C is D
    for_each_part(rest, least_flops, each);
    return for_each_part(first, least_flops, each);
  }
  const std::size_t of_d = cut(&ProductDescriptor::d, cuts_m);
  rest.d += of_d;
  if (p.c_alignment > 0) rest.descriptor.c_alignment = alignment_of(of_d | p.c_alignment);
  for_each_part(first, least_flops, each);
  for_each_part(rest, least_flops, each);
}

/// A product of which the wider factor was copied to the other's type, at `copy`, in rows of `leading` elements.
template <class T, class A, class B, class C>
constexpr op::Product<T, T, C> narrowed(const op::Product<A, B, C>& o, std::size_t copy, std::size_t leading) {
  constexpr bool a_is_wider = sizeof(A) > sizeof(B);
  return {.a = {a_is_wider ? copy : o.a.offset},
          .b = {a_is_wider ? o.b.offset : copy},
          .c = o.c,
          .m = o.m,
          .n = o.n,
          .k = o.k,
          .transpose_a = o.transpose_a,
          .transpose_b = o.transpose_b,
          .add = o.add,
          .a_leading = a_is_wider ? leading : o.a_leading,
          .c_leading = o.c_leading};
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
