// regimen/engine/emulated/product.hpp — what cuBLASLt demands of a product, and the product by loops.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::emulated {

namespace detail {

inline void demand(bool holds, const std::string& expected, const std::string& found) {
  if (!holds) throw Error("a product of the library (CUBLAS_STATUS_INVALID_VALUE)", expected, found);
}
/// From the first element of the first matrix to the last of the last one.
inline std::size_t bytes_of_matrix(const cuda::Layout& l) {
  return bytes_of(l.type) * (static_cast<std::uint64_t>(l.count - 1) * static_cast<std::uint64_t>(l.stride) +
                             (l.columns - 1) * static_cast<std::uint64_t>(l.leading) + l.rows);
}
/// Whether no element belongs to two matrices: they lie one behind the other, or between each other's columns.
inline bool are_apart(const cuda::Layout& l) {
  const auto rows = static_cast<std::int64_t>(l.rows), columns = static_cast<std::int64_t>(l.columns);
  return l.count == 1 || l.stride >= (columns - 1) * l.leading + rows ||
         (l.stride >= rows && (l.count - 1) * l.stride + rows <= l.leading);
}

}  // namespace detail

/// Refuses what cublasLtMatmul's documentation does not allow: extents, leading dimensions, and combinations of types.
/// Among the combinations of types: sums in fp64 only of fp64, an epilogue only with sums in fp32, tf32 only of fp32.
inline void check_product(const cuda::ProductDescriptor& p) {
  const auto& [a, b, d, transpose_a, transpose_b, wide, reads_tf32, epilogue, bias_alignment, aux_alignment,
               c_alignment, aux_leading, workspace] = p;
  const char* name = "ABD";
  for (const cuda::Layout* l : {&a, &b, &d}) {
    detail::demand(l->rows > 0 && l->columns > 0, std::string("a matrix ") + *name + " with elements",
                   std::to_string(l->rows) + " x " + std::to_string(l->columns));
    detail::demand(l->leading >= static_cast<std::int64_t>(l->rows),
                   std::string("a leading dimension of ") + *name + " of at least " + std::to_string(l->rows),
                   std::to_string(l->leading));
    detail::demand(l->count == d.count && l->count > 0 && l->stride >= 0,
                   "as many matrices A, B as D, each behind the one before",
                   std::to_string(l->count) + " of " + *name + ", at a stride of " + std::to_string(l->stride));
    ++name;
  }
  const auto rows = [](const cuda::Layout& l, bool t) { return t ? l.columns : l.rows; };
  const auto columns = [](const cuda::Layout& l, bool t) { return t ? l.rows : l.columns; };
  detail::demand(rows(a, transpose_a) == d.rows && columns(b, transpose_b) == d.columns &&
                     columns(a, transpose_a) == rows(b, transpose_b),
                 "op(A) (m,k), op(B) (k,n), D (m,n)",
                 "op(A) " + std::to_string(rows(a, transpose_a)) + " x " + std::to_string(columns(a, transpose_a)) +
                     ", op(B) " + std::to_string(rows(b, transpose_b)) + " x " +
                     std::to_string(columns(b, transpose_b)) + ", D " + std::to_string(d.rows) + " x " +
                     std::to_string(d.columns));
  detail::demand(
      detail::are_apart(d), "matrices D without common elements",
      "a stride of " + std::to_string(d.stride) + " and a leading dimension of " + std::to_string(d.leading));
  const bool types_fit = a.type == b.type && (wide ? a.type == ElementType::float64 && d.type == a.type
                                                   : a.type != ElementType::float64 &&
                                                         (d.type == a.type || d.type == ElementType::float32));
  detail::demand(types_fit, "A and B of one type, D of the same or fp32; fp64 with sums in fp64",
                 "another combination");
  if (epilogue == cuda::Epilogue::none) {
    detail::demand(bias_alignment == 0 && aux_alignment == 0 && aux_leading == 0,
                   "neither bias nor aux without an epilogue", "one of them");
  } else {
    detail::demand(!wide, "an epilogue with sums in fp32", "sums in fp64");
    detail::demand(d.type == a.type, "an epilogue with factors of D's type", "another type");
    detail::demand(d.count == 1, "an epilogue of one product", std::to_string(d.count));
    detail::demand(cuda::reads_bias(epilogue) == (bias_alignment > 0),
                   "a bias where the epilogue reads one, only there", bias_alignment > 0 ? "one" : "none");
    detail::demand(cuda::has_aux(epilogue) == (aux_alignment > 0), "aux where the epilogue has it, only there",
                   aux_alignment > 0 ? "one" : "none");
  }
  if (cuda::has_aux(epilogue)) {
    detail::demand(aux_leading >= static_cast<std::int64_t>(d.rows) && aux_leading % 8 == 0,
                   "a leading dimension of aux that is a multiple of 8, of at least " + std::to_string(d.rows),
                   std::to_string(aux_leading));
    detail::demand(aux_alignment % 16 == 0, "aux at a multiple of 16 bytes",
                   "at a multiple of " + std::to_string(aux_alignment));
  }
  detail::demand(!reads_tf32 || (!wide && a.type == ElementType::float32), "A and B of fp32, to be read as tf32",
                 "another type");
}

/// Refuses a C where the descriptor has none, or the reverse, and one that has elements in common with D: the library
/// takes C = D, or two matrices.
inline void check_c(const cuda::ProductDescriptor& p, const cuda::ProductTensors& t, double beta) {
  detail::demand((t.c != nullptr) == (p.c_alignment > 0),
                 "a C elsewhere than D where the descriptor has one, only there", t.c != nullptr ? "one" : "none");
  if (t.c == nullptr) return;
  detail::demand(beta != 0, "a C elsewhere than D with a factor beta", "0");
  const std::size_t bytes = detail::bytes_of_matrix(p.d);
  detail::demand(t.c + bytes <= t.d || t.d + bytes <= t.c, "a C that is D, or has no element in common with it",
                 "one that overlaps D");
}

/// body(layout, address, name) for what the library reads and writes.
template <class Body>
void for_each_matrix(const cuda::ProductDescriptor& p, const cuda::ProductTensors& t, const Body& body) {
  const auto with_rows_of_d = [&](std::uint64_t columns, std::int64_t leading, std::uint32_t alignment) {
    return cuda::Layout{
        .type = p.d.type, .rows = p.d.rows, .columns = columns, .leading = leading, .alignment = alignment};
  };
  body(p.a, t.a, "the library's A");
  body(p.b, t.b, "the library's B");
  body(p.d, t.d, "the library's D");
  if (cuda::reads_bias(p.epilogue))
    body(with_rows_of_d(1, static_cast<std::int64_t>(p.d.rows), p.bias_alignment), t.bias, "the library's bias");
  if (cuda::has_aux(p.epilogue))
    body(with_rows_of_d(p.d.columns, p.aux_leading, p.aux_alignment), t.aux, "the library's aux");
  cuda::Layout c = p.d;
  c.alignment = p.c_alignment;
  if (p.c_alignment > 0) body(c, t.c, "the library's C");
}

/// Refuses a descriptor that promises less of an address, where the device is asked to: the library would compute it,
/// but slowly.
inline void check_promises(const cuda::ProductDescriptor& p, std::uint32_t alignment) {
  for_each_matrix(p, {}, [&](const cuda::Layout& l, const std::byte*, const char*) {
    detail::demand(l.alignment >= alignment, "matrices at multiples of " + std::to_string(alignment) + " bytes",
                   "one at a multiple of " + std::to_string(l.alignment));
  });
}

/// Refuses addresses that the descriptor does not promise.
inline void check_address(const cuda::Layout& l, const std::byte* at, const char* name) {
  const std::uint64_t least = l.alignment > bytes_of(l.type) ? l.alignment : bytes_of(l.type);
  detail::demand(reinterpret_cast<std::uintptr_t>(at) % least == 0,
                 std::string(name) + " at a multiple of " + std::to_string(least) + " bytes, as its descriptor says",
                 "another address");
}

/// D = op(A) · op(B) + beta · C, and the epilogue, for all matrices, in ascending order of the inner index.
///
/// Matrices are column-major: a row is 1 element from the next and a column `leading`, or the reverse where op
/// transposes. A sum is in S, fp32 or fp64; C, the bias and the epilogue are added in S, too, and D is rounded once.
/// With aux the number before GELU is stored, rounded, or, backward, read.
inline void multiply(const cuda::ProductDescriptor& p, const cuda::ProductTensors& t, double beta) {
  using Gelu = activation::GeluTanh;
  const auto loops = [&]<class T, class Out>(std::type_identity<T>, std::type_identity<Out>) {
    using S = std::conditional_t<std::is_same_v<T, fp64>, double, float>;
    const auto stride = [](const cuda::Layout& l, bool transpose) {
      return std::pair{transpose ? static_cast<std::size_t>(l.leading) : std::size_t{1},
                       transpose ? std::size_t{1} : static_cast<std::size_t>(l.leading)};
    };
    const auto a_stride = stride(p.a, p.transpose_a), b_stride = stride(p.b, p.transpose_b);
    const std::size_t depth = p.transpose_a ? p.a.rows : p.a.columns;
    const auto read = [&](T factor) {
      if constexpr (std::is_same_v<T, fp32>) return p.reads_tf32 ? static_cast<float>(tf32(factor)) : factor;
      else return static_cast<S>(factor);
    };
    const auto behind = [](const cuda::Layout& l, std::size_t index) {
      return static_cast<std::size_t>(l.stride) * index;
    };
    for (std::size_t index = 0; index < static_cast<std::size_t>(p.d.count); ++index) {
      const T* const x = reinterpret_cast<const T*>(t.a) + behind(p.a, index);
      const T* const y = reinterpret_cast<const T*>(t.b) + behind(p.b, index);
      Out* const z = reinterpret_cast<Out*>(t.d) + behind(p.d, index);
      const Out* const onto = t.c == nullptr ? z : reinterpret_cast<const Out*>(t.c) + behind(p.d, index);
      for (std::size_t j = 0; j < p.d.columns; ++j) {
        for (std::size_t i = 0; i < p.d.rows; ++i) {
          S sum = 0;
          for (std::size_t k = 0; k < depth; ++k)
            sum +=
                read(x[i * a_stride.first + k * a_stride.second]) * read(y[k * b_stride.first + j * b_stride.second]);
          const std::size_t place = j * static_cast<std::size_t>(p.d.leading) + i;
          Out& to = z[place];
          if (beta != 0) sum += static_cast<S>(beta) * static_cast<S>(onto[place]);
          const auto before = [&]() -> Out& {
            return reinterpret_cast<Out*>(t.aux)[j * static_cast<std::size_t>(p.aux_leading) + i];
          };
          if (cuda::reads_bias(p.epilogue)) sum += static_cast<S>(reinterpret_cast<const Out*>(t.bias)[i]);
          if (p.epilogue == cuda::Epilogue::gelu_aux_bias) before() = static_cast<Out>(sum);
          if (p.epilogue == cuda::Epilogue::dgelu) sum *= Gelu::derivative(static_cast<S>(before()));
          else if (p.epilogue > cuda::Epilogue::bias) sum = Gelu::value(sum);
          to = static_cast<Out>(sum);
        }
      }
    }
  };
  with_element(p.a.type, [&]<class T>(T) {
    constexpr std::type_identity<T> type{};
    if (p.d.type == p.a.type) loops(type, type);
    else if constexpr (!std::is_same_v<T, fp64>) loops(type, std::type_identity<fp32>{});
  });
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
