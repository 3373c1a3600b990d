// regimen/engine/cpu/vector.hpp — one vector register of the target machine, used like a number.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace regimen::cpu {

/// Bytes of a register: what the compiler may use for the whole translation unit (-march), never asked at run time.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

template <class S>
inline constexpr std::size_t lanes = vector_bytes / sizeof(S);

namespace detail {

// One specialisation per element type: GCC silently drops a vector_size that depends on a template parameter.
template <class S>
struct Register;
template <>
struct Register<float> {
  typedef float Native __attribute__((vector_size(vector_bytes)));
  using Word = std::int32_t;
  typedef std::int32_t Signed __attribute__((vector_size(vector_bytes)));
  typedef std::uint32_t Unsigned __attribute__((vector_size(vector_bytes)));
  typedef std::uint16_t Short __attribute__((vector_size(vector_bytes / 2)));  // as many 16-bit numbers
};
template <>
struct Register<double> {
  typedef double Native __attribute__((vector_size(vector_bytes)));
  using Word = std::int64_t;
  typedef std::int64_t Signed __attribute__((vector_size(vector_bytes)));
  typedef std::uint64_t Unsigned __attribute__((vector_size(vector_bytes)));
  typedef float Single __attribute__((vector_size(vector_bytes / 2)));  // as many fp32 numbers
};

}  // namespace detail

/// The lanes for which a comparison holds.
template <class S>
struct Mask final {
  using Signed = typename detail::Register<S>::Signed;
  Signed bits;  // all ones or all zeros per lane

  friend Mask operator&(Mask a, Mask b) { return {a.bits & b.bits}; }
  friend Mask operator|(Mask a, Mask b) { return {a.bits | b.bits}; }
  friend Mask operator~(Mask a) { return {~a.bits}; }
};

/// lanes<S> numbers, computed at once; S is fp32 or fp64.
///
/// A scalar converts to a vector of copies, so formulas read as for one number. The
/// 16-bit formats exist in memory only:
/// load and store convert, rounding exactly as regimen::bf16 and regimen::fp16 do.
template <class S>
struct Vector final {
  using Native = typename detail::Register<S>::Native;
  using Signed = typename detail::Register<S>::Signed;
  using Unsigned = typename detail::Register<S>::Unsigned;
  Native native;

  Vector() = default;
  explicit Vector(Native value) : native(value) {}
  Vector(S value) : native(value - Native{}) {}  // minus, because −0 + 0 would be +0

  S operator[](std::size_t lane) const { return native[lane]; }

  friend Vector operator+(Vector a, Vector b) { return Vector(a.native + b.native); }
  friend Vector operator-(Vector a, Vector b) { return Vector(a.native - b.native); }
  friend Vector operator*(Vector a, Vector b) { return Vector(a.native * b.native); }
  friend Vector operator/(Vector a, Vector b) { return Vector(a.native / b.native); }
  friend Vector operator-(Vector a) { return Vector(-a.native); }
  Vector& operator+=(Vector b) { return *this = *this + b; }
  Vector& operator-=(Vector b) { return *this = *this - b; }
  Vector& operator*=(Vector b) { return *this = *this * b; }

  friend Mask<S> operator<(Vector a, Vector b) { return {a.native < b.native}; }
  friend Mask<S> operator>(Vector a, Vector b) { return {a.native > b.native}; }
  friend Mask<S> operator<=(Vector a, Vector b) { return {a.native <= b.native}; }
  friend Mask<S> operator>=(Vector a, Vector b) { return {a.native >= b.native}; }
  friend Mask<S> operator==(Vector a, Vector b) { return {a.native == b.native}; }
  friend Mask<S> operator!=(Vector a, Vector b) { return {a.native != b.native}; }
};

/// mask ? yes : no, lane by lane
template <class S>
Vector<S> select(Mask<S> mask, Vector<S> yes, Vector<S> no) {
  return Vector<S>(mask.bits ? yes.native : no.native);
}

/// Where x is NaN, by its bits.
template <class S>
Mask<S> where_nan(Vector<S> x) {
  using V = Vector<S>;
  using Word = typename detail::Register<S>::Word;
  constexpr Word infinity = std::is_same_v<S, float> ? Word(0x7F80'0000) : Word(0x7FF0'0000'0000'0000);
  const auto magnitude = std::bit_cast<typename V::Unsigned>(x.native) << 1 >> 1;
  return {std::bit_cast<typename V::Signed>(magnitude) > infinity};
}

/// Where a replaces b as the largest: NaN does.
template <class S>
Mask<S> is_larger(Vector<S> a, Vector<S> b) {
  return (a > b) | where_nan(a);
}

/// x <= 0, by the bits of x: as a signed integer a negative number lies below −∞ or is it,
/// and a NaN of either sign above.
template <class S>
Mask<S> at_most_zero(Vector<S> x) {
  using Word = typename detail::Register<S>::Word;
  constexpr Word minus_infinity =
      std::is_same_v<S, float> ? Word(0xFF80'0000u) : static_cast<Word>(0xFFF0'0000'0000'0000u);
  const auto bits = std::bit_cast<typename Vector<S>::Signed>(x.native);
  return {(bits <= minus_infinity) | (bits == Word(0))};
}

/// The smaller and the larger per lane; `a` if either is NaN. (Under -ffast-math comparisons with NaN are undefined.)
template <class S>
Vector<S> min(Vector<S> a, Vector<S> b) {
  const Vector<S> smaller(b.native < a.native ? b.native : a.native);
#if __FINITE_MATH_ONLY__
  return select(where_nan(a) | where_nan(b), a, smaller);
#else
  return smaller;
#endif
}
template <class S>
Vector<S> max(Vector<S> a, Vector<S> b) {
  const Vector<S> larger(b.native > a.native ? b.native : a.native);
#if __FINITE_MATH_ONLY__
  return select(where_nan(a) | where_nan(b), a, larger);
#else
  return larger;
#endif
}

template <class S>
Vector<S> abs(Vector<S> a) {
  using V = Vector<S>;
  const auto magnitude = std::bit_cast<typename V::Unsigned>(a.native) << 1 >> 1;
  return V(std::bit_cast<typename V::Native>(magnitude));
}

/// a · b + c: rounded once where the target has the instruction, else twice
template <class S>
Vector<S> multiply_add(Vector<S> a, Vector<S> b, Vector<S> c) {
#if defined(__FMA__)
  constexpr bool single = std::is_same_v<S, float>;
#if defined(__AVX512F__)
  if constexpr (vector_bytes == 64) {
    if constexpr (single) return Vector<S>(_mm512_fmadd_ps(a.native, b.native, c.native));
    else return Vector<S>(_mm512_fmadd_pd(a.native, b.native, c.native));
  }
#endif
  if constexpr (vector_bytes == 32) {
    if constexpr (single) return Vector<S>(_mm256_fmadd_ps(a.native, b.native, c.native));
    else return Vector<S>(_mm256_fmadd_pd(a.native, b.native, c.native));
  } else if constexpr (vector_bytes == 16) {
    if constexpr (single) return Vector<S>(_mm_fmadd_ps(a.native, b.native, c.native));
    else return Vector<S>(_mm_fmadd_pd(a.native, b.native, c.native));
  }
#endif
  return a * b + c;
}

/// √a, correctly rounded. Written out because std::sqrt may set errno, which keeps
/// compilers from using the instruction.
template <class S>
Vector<S> sqrt(Vector<S> a) {
#if defined(__SSE2__)
  constexpr bool single = std::is_same_v<S, float>;
#if defined(__AVX512F__)
  if constexpr (vector_bytes == 64) {
    if constexpr (single) return Vector<S>(_mm512_maskz_sqrt_ps(0xFFFF, a.native));
    else return Vector<S>(_mm512_maskz_sqrt_pd(0xFF, a.native));
  }
#endif
#if defined(__AVX__)
  if constexpr (vector_bytes == 32) {
    if constexpr (single) return Vector<S>(_mm256_sqrt_ps(a.native));
    else return Vector<S>(_mm256_sqrt_pd(a.native));
  }
#endif
  if constexpr (vector_bytes == 16) {
    if constexpr (single) return Vector<S>(_mm_sqrt_ps(a.native));
    else return Vector<S>(_mm_sqrt_pd(a.native));
  }
#else
  for (std::size_t lane = 0; lane < lanes<S>; ++lane) a.native[lane] = std::sqrt(a.native[lane]);
  return a;
#endif
}

namespace detail {

template <std::size_t Distance, class S, std::size_t... Lane>
Vector<S> rotate(Vector<S> a, std::index_sequence<Lane...>) {
#if defined(__CUDACC__)  // its front end loses the pack in the builtin
  const Vector<S> from = a;
  ((a.native[Lane] = from.native[(Lane + Distance) % sizeof...(Lane)]), ...);
  return a;
#else
  return Vector<S>(__builtin_shufflevector(a.native, a.native, ((Lane + Distance) % sizeof...(Lane))...));
#endif
}

template <std::size_t Distance, class S, class Combine>
Vector<S> fold(Vector<S> a, const Combine& combine) {
  const Vector<S> halved = combine(a, rotate<Distance>(a, std::make_index_sequence<lanes<S>>{}));
  if constexpr (Distance == 1) return halved;
  else return fold<Distance / 2>(halved, combine);
}

}  // namespace detail

/// The sum and the largest of the lanes, always in the same order: the upper half onto the lower half, and again.
template <class S>
S sum(Vector<S> a) {
  return detail::fold<lanes<S> / 2>(a, [](Vector<S> x, Vector<S> y) { return x + y; })[0];
}
template <class S>
S maximum(Vector<S> a) {
  return detail::fold<lanes<S> / 2>(a, [](Vector<S> x, Vector<S> y) { return max(x, y); })[0];
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
