// regimen/engine/cpu/register_tile.hpp — the block of a product that lives in registers, and how vectors reach memory.
#pragma once

#include <regimen/core/number.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace regimen::cpu::detail {

// The widest vector of the instruction set that the compiler was told about, in the vector extension that g++, clang,
// and nvcc's host pass share. Its rows of accumulators fill the registers: 12 x 2 of 32, or 6 x 2 of 16.
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64, block_rows = 12;
#elif defined(__AVX__)
inline constexpr std::size_t vector_bytes = 32, block_rows = 6;
#else
inline constexpr std::size_t vector_bytes = 16, block_rows = 6;
#endif

/// S: fp32 or fp64, what products and softmax are computed in.
template <class S> struct vector_of final {
  static constexpr std::size_t lanes = vector_bytes / sizeof(S);
  using integer = std::conditional_t<sizeof(S) == 4, std::int32_t, std::int64_t>;
  typedef S type __attribute__((vector_size(vector_bytes)));
  typedef integer bits __attribute__((vector_size(vector_bytes)));
  typedef std::uint16_t half __attribute__((vector_size(lanes * 2)));  // the 16-bit numbers that widen to one vector
};
template <class S> using vector = typename vector_of<S>::type;
template <class S> using vector_bits = typename vector_of<S>::bits;
template <class S> inline constexpr std::size_t lanes = vector_of<S>::lanes;
template <class S> inline constexpr std::size_t block_columns = 2 * lanes<S>;

template <class S> inline vector<S> broadcast(S value) { return value - vector<S>{}; }  // x - 0 is x, for -0 too

/// fp32 from 16-bit storage, lane by lane what regimen::detail::widen does.
template <int Exponent> inline vector<float> widen_vector(const std::uint16_t* from) {
  vector_of<float>::half half;
  std::memcpy(&half, from, sizeof half);
  typedef std::uint32_t word __attribute__((vector_size(vector_bytes)));
  const vector_bits<float> bits = (vector_bits<float>)__builtin_convertvector(half, word);
  if constexpr (Exponent == 8) {
    return (vector<float>)(bits << 16);
  } else {
    constexpr int shift = 13, infinity = 31 << 10;
    const vector_bits<float> sign = (bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
    const vector_bits<float> finite = (vector_bits<float>)((vector<float>)(magnitude << shift) * 0x1p112f);
    const vector_bits<float> special = 0x7F80'0000 | (magnitude << shift);
    return (vector<float>)(sign | (magnitude >= infinity ? special : finite));
  }
}

/// 16-bit storage from fp32, lane by lane what regimen::detail::narrow does.
template <int Exponent> inline void narrow_vector(std::uint16_t* to, vector<float> value) {
  using bits_type = vector_bits<float>;
  const bits_type bits = (bits_type)value, magnitude = bits & 0x7FFF'FFFF, sign = (bits >> 16) & 0x8000;
  constexpr int mantissa = 15 - Exponent, shift = 23 - mantissa, infinity = ((1 << Exponent) - 1) << mantissa;
  bits_type rounded;
  if constexpr (Exponent == 8) {
    rounded = (magnitude + 0x7FFF + ((magnitude >> shift) & 1)) >> shift;
  } else {
    constexpr int smallest_normal = 113 << 23, overflow = 143 << 23, magic = 126 << 23;
    const bits_type subnormal = (bits_type)((vector<float>)magnitude + 0.5f) - magic;
    const bits_type rebased = magnitude - (112 << 23);
    const bits_type normal = (rebased + ((1 << (shift - 1)) - 1) + ((rebased >> shift) & 1)) >> shift;
    rounded = magnitude < smallest_normal ? subnormal : normal;
    rounded = magnitude >= overflow ? bits_type{} + infinity : rounded;
  }
  rounded = magnitude > 0x7F80'0000 ? bits_type{} + (infinity | (1 << (mantissa - 1))) : rounded;
  const vector_of<float>::half half = __builtin_convertvector(rounded | sign, vector_of<float>::half);
  std::memcpy(to, &half, sizeof half);
}

/// One vector of S from storage of T: T is S, or a 16-bit format where S is fp32. No alignment is asked for.
template <class S, class T> inline vector<S> load(const T* from) {
  if constexpr (std::is_same_v<T, bf16>) {
    return widen_vector<8>(&from->bits);
  } else if constexpr (std::is_same_v<T, fp16>) {
    return widen_vector<5>(&from->bits);
  } else {
    static_assert(std::is_same_v<S, T>);
    vector<S> value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

/// One rounding where T is narrower than S.
template <class S, class T> inline void store(T* to, vector<S> value) {
  if constexpr (std::is_same_v<T, bf16>) {
    narrow_vector<8>(&to->bits, value);
  } else if constexpr (std::is_same_v<T, fp16>) {
    narrow_vector<5>(&to->bits, value);
  } else {
    static_assert(std::is_same_v<S, T>);
    std::memcpy(to, &value, sizeof value);
  }
}

/// The first `count` < lanes elements; the others are 0.
template <class S, class T> inline vector<S> load_part(const T* from, std::size_t count) {
  T buffer[lanes<S>] = {};
  for (std::size_t i = 0; i < count; ++i) buffer[i] = from[i];
  return load<S>(buffer);
}

template <class S, class T> inline void store_part(T* to, vector<S> value, std::size_t count) {
  T buffer[lanes<S>];
  store<S>(buffer, value);
  for (std::size_t i = 0; i < count; ++i) to[i] = buffer[i];
}

/// The rows [i][0, count) of `from` to the rows of `to`, widened; `to` is padded with 0 to whole vectors.
template <class S, class T> inline void copy_row(S* to, const T* from, std::size_t count) {
  std::size_t i = 0;
  for (; i + lanes<S> <= count; i += lanes<S>) store<S>(to + i, load<S>(from + i));
  if (i < count) store<S>(to + i, load_part<S>(from + i, count - i));
}

// Lanes of a and b in turn, from the low or the high half of both. V is a parameter so that the branches for other
// widths are never compiled.
template <class V> inline V interleave_low(V a, V b) {
  constexpr std::size_t count = sizeof(V) / sizeof(a[0]);
  if constexpr (count == 16) return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else if constexpr (count == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  else if constexpr (count == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  else return __builtin_shufflevector(a, b, 0, 2);
}
template <class V> inline V interleave_high(V a, V b) {
  constexpr std::size_t count = sizeof(V) / sizeof(a[0]);
  if constexpr (count == 16)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else if constexpr (count == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  else if constexpr (count == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  else return __builtin_shufflevector(a, b, 1, 3);
}

/// A square of lanes x lanes, transposed: each of log2(lanes) rounds is a perfect shuffle of the rows.
template <class S, class T, std::size_t... I>
inline void transpose_square(S* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::index_sequence<I...>) {
  constexpr std::size_t width = sizeof...(I);
  vector<S> row[width] = {load<S>(from + I * from_stride)...};
  for (std::size_t round = 1; round < width; round *= 2) {
    const vector<S> next[width] = {(I % 2 == 0 ? interleave_low(row[I / 2], row[I / 2 + width / 2])
                                               : interleave_high(row[I / 2], row[I / 2 + width / 2]))...};
    ((row[I] = next[I]), ...);
  }
  (store<S>(to + I * to_stride, row[I]), ...);
}

/// to[p][j] = from[j][p] for j < rows, p < columns; the columns of `to` are padded with 0 up to whole vectors.
template <class S, class T>
inline void transpose(S* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t rows,
                      std::size_t columns) {
  constexpr std::size_t width = lanes<S>;
  for (std::size_t j = 0; j < rows; j += width) {
    std::size_t p = 0;
    if (j + width <= rows)
      for (; p + width <= columns; p += width)
        transpose_square(to + p * to_stride + j, to_stride, from + j * from_stride + p, from_stride,
                         std::make_index_sequence<width>{});
    for (; p < columns; ++p)
      for (std::size_t i = 0; i < width; ++i)
        to[p * to_stride + j + i] = j + i < rows ? static_cast<S>(from[(j + i) * from_stride + p]) : S(0);
  }
}

/// c[i][j] = Σ_p a[i][p] · b[p][j], or += if `add`, for Rows rows and Vectors vectors of columns, in registers over all
/// of `depth`. a[i][p] lies at a[i · RowStride + p · DepthStride]; strides that the compiler knows cost no registers.
template <class S, std::size_t Rows, std::size_t Vectors, std::size_t RowStride, std::size_t DepthStride, std::size_t BStride>
inline void multiply_block(std::size_t depth, const S* a, const S* b, S* c, std::size_t c_stride, bool add) {
  vector<S> sum[Rows][Vectors] = {};
  [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    for (std::size_t p = 0; p < depth; ++p) {
      const vector<S> row[Vectors] = {load<S>(b + p * BStride + J * lanes<S>)...};
      const auto one_row = [&](vector<S>(&into)[Vectors], S value) {
        const vector<S> factor = broadcast(value);
        ((into[J] = factor * row[J] + into[J]), ...);
      };
      (one_row(sum[I], a[I * RowStride + p * DepthStride]), ...);
    }
  }(std::make_index_sequence<Rows>{}, std::make_index_sequence<Vectors>{});
  for (std::size_t i = 0; i < Rows; ++i)
    for (std::size_t j = 0; j < Vectors; ++j) {
      S* const at = c + i * c_stride + j * lanes<S>;
      store<S>(at, add ? load<S>(at) + sum[i][j] : sum[i][j]);
    }
}

/// multiply_block over any number of rows and columns: c (rows,columns) with a as above and b in panels of
/// block_columns columns, `b_panel` elements apart, each (depth, block_columns). Works on rows rounded up to
/// block_rows / 3 and columns rounded up to lanes: a, b and c must have room for that.
template <class S, std::size_t RowStride, std::size_t DepthStride>
inline void multiply_tile(std::size_t rows, std::size_t columns, std::size_t depth, const S* a, const S* b, std::size_t b_panel,
                          S* c, std::size_t c_stride, bool add) {
  constexpr std::size_t step = block_columns<S>, third = block_rows / 3;
  const auto columns_of = [&]<std::size_t Rows, std::size_t Vectors>(std::size_t i, std::size_t j) {
    multiply_block<S, Rows, Vectors, RowStride, DepthStride, step>(depth, a + i * RowStride, b + j / step * b_panel,
                                                                  c + i * c_stride + j, c_stride, add);
  };
  const auto rows_of = [&]<std::size_t Vectors>(std::size_t j) {
    std::size_t i = 0;
    for (; i + block_rows <= rows; i += block_rows) columns_of.template operator()<block_rows, Vectors>(i, j);
    if (i == rows) return;
    if (rows - i <= third) columns_of.template operator()<third, Vectors>(i, j);
    else if (rows - i <= 2 * third) columns_of.template operator()<2 * third, Vectors>(i, j);
    else columns_of.template operator()<block_rows, Vectors>(i, j);
  };
  for (std::size_t j = 0; j < columns; j += step) {
    if (columns - j > lanes<S>) rows_of.template operator()<2>(j);
    else rows_of.template operator()<1>(j);
  }
}

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
