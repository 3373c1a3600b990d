// regimen/engine/cpu/simd.hpp — one vector register of the target machine, used like a number.
#pragma once

#include <regimen/core/number.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  typedef float Half __attribute__((vector_size(vector_bytes / 2)));
  using Word = std::int32_t;
  typedef std::int32_t Signed __attribute__((vector_size(vector_bytes)));
  typedef std::uint32_t Unsigned __attribute__((vector_size(vector_bytes)));
  typedef std::uint16_t Short __attribute__((vector_size(vector_bytes / 2)));  // as many 16-bit numbers
};
template <>
struct Register<double> {
  typedef double Native __attribute__((vector_size(vector_bytes)));
  typedef double Half __attribute__((vector_size(vector_bytes / 2)));
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

/// x <= 0, by the bits of x: as a signed integer a negative number lies below −∞ or is it,
/// and a NaN of either sign above.
template <class S>
Mask<S> at_most_zero(Vector<S> x) {
  using Word = typename detail::Register<S>::Word;
  constexpr Word minus_infinity = std::is_same_v<S, float> ? Word(0xFF80'0000u) : static_cast<Word>(0xFFF0'0000'0000'0000u);
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

/// How many lanes a load or a store touches: all of them, or as many as a std::size_t says. The rest is never accessed;
/// a load sets it to 0.
struct Whole final {};

/// The number of lanes that are accessed.
template <class S>
constexpr std::size_t lanes_used(Whole) {
  return lanes<S>;
}
template <class S>
constexpr std::size_t lanes_used(std::size_t count) {
  return count;
}

namespace detail {

/// Loads and stores a register's worth of `Element` in its memory format.
template <class Raw, class Element>
Raw read(const Element* from, Whole) {
  Raw raw;
  std::memcpy(&raw, from, sizeof raw);
  return raw;
}
template <class Raw, class Element>
void write(Raw raw, Element* to, Whole) {
  std::memcpy(to, &raw, sizeof raw);
}

template <class Raw, class Element>
Raw read(const Element* from, std::size_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  const unsigned mask = (1u << count) - 1u;
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 4) return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 8) return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 4) return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi32(static_cast<__mmask8>(mask), from));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 2) return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), from));
#endif
  constexpr std::size_t room = sizeof(Raw) / sizeof(Element);
  std::uint8_t buffer[sizeof(Raw)] = {};
  for (std::size_t i = 0; i < room && i < count; ++i) std::memcpy(buffer + i * sizeof(Element), from + i, sizeof(Element));
  return read<Raw>(buffer, Whole{});
}
template <class Raw, class Element>
void write(Raw raw, Element* to, std::size_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  const unsigned mask = (1u << count) - 1u;
  if constexpr (sizeof(Raw) == 64) {
    __m512i bits;
    std::memcpy(&bits, &raw, sizeof bits);
    if constexpr (sizeof(Element) == 4) return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), bits);
    if constexpr (sizeof(Element) == 8) return _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), bits);
  }
  if constexpr (sizeof(Raw) == 32) {
    __m256i bits;
    std::memcpy(&bits, &raw, sizeof bits);
    if constexpr (sizeof(Element) == 4) return _mm256_mask_storeu_epi32(to, static_cast<__mmask8>(mask), bits);
    if constexpr (sizeof(Element) == 2) return _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(mask), bits);
  }
#endif
  constexpr std::size_t room = sizeof(Raw) / sizeof(Element);
  std::uint8_t buffer[sizeof(Raw)];
  write(raw, buffer, Whole{});
  for (std::size_t i = 0; i < room && i < count; ++i) std::memcpy(to + i, buffer + i * sizeof(Element), sizeof(Element));
}

// Conversions between 16 and 32 bits, as intrinsics where compilers miss the single instruction.
inline Register<float>::Unsigned extend(Register<float>::Short raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Register<float>::Unsigned>(_mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(raw)));
#elif defined(__AVX2__)
  return reinterpret_cast<Register<float>::Unsigned>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(raw)));
#else
  return __builtin_convertvector(raw, Register<float>::Unsigned);
#endif
}
inline Register<float>::Short truncate(Register<float>::Unsigned raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Register<float>::Short>(_mm512_maskz_cvtepi32_epi16(0xFFFF, reinterpret_cast<__m512i>(raw)));
#elif defined(__AVX2__)
  const __m256i pairs = _mm256_packus_epi32(reinterpret_cast<__m256i>(raw), reinterpret_cast<__m256i>(raw));  // within each half
  return reinterpret_cast<Register<float>::Short>(_mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0b1000)));
#else
  return __builtin_convertvector(raw, Register<float>::Short);
#endif
}

/// regimen::detail::narrow and widen, a register at a time.
template <int Exponent>
Register<float>::Short narrow_bits(Vector<float> value) {
  using V = Vector<float>;
  using U = V::Unsigned;
  constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1, shift = 23 - mantissa;
  const U bits = std::bit_cast<U>(value.native), magnitude = bits & 0x7FFF'FFFFu, sign = (bits >> 16) & 0x8000u;
  constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << mantissa, quiet = infinity | (1u << (mantissa - 1));
  U rounded;
  if constexpr (Exponent == 8) {
    rounded = (magnitude + 0x7FFFu + ((magnitude >> shift) & 1u)) >> shift;
  } else {
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(127 - bias + 1) << 23;
    constexpr std::uint32_t overflow = static_cast<std::uint32_t>(127 + bias + 1) << 23;
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 - bias + 1 + shift) << 23;
    const V shifted = V(std::bit_cast<V::Native>(magnitude)) + V(std::bit_cast<float>(magic));
    const U subnormal = std::bit_cast<U>(shifted.native) - magic;
    const U rebased = magnitude - (static_cast<std::uint32_t>(127 - bias) << 23);
    const U normal = (rebased + ((1u << (shift - 1)) - 1) + ((rebased >> shift) & 1u)) >> shift;
    rounded = magnitude < smallest_normal ? subnormal : normal;
    rounded = magnitude >= overflow ? U{} + infinity : rounded;
  }
  rounded = magnitude > 0x7F80'0000u ? U{} + quiet : rounded;
  return truncate(sign | rounded);
}
template <int Exponent>
Register<float>::Short narrow(Vector<float> value) {
  return narrow_bits<Exponent>(value);
}

template <int Exponent>
Vector<float> widen(Register<float>::Short raw) {
  using V = Vector<float>;
  using U = V::Unsigned;
  constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1, shift = 23 - mantissa;
  const U bits = extend(raw);
  if constexpr (Exponent == 8) {
    return V(std::bit_cast<V::Native>(bits << shift));
  } else {
    constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << mantissa;
    constexpr float rebase = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 127 - bias) << 23);
    const U sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
    const V finite = V(std::bit_cast<V::Native>(magnitude << shift)) * V(rebase);
    const U special = 0x7F80'0000u | (magnitude << shift);
    return V(std::bit_cast<V::Native>(sign | (magnitude >= infinity ? special : std::bit_cast<U>(finite.native))));
  }
}

// The bf16 instruction rounds like narrow_bits() except for NaNs and subnormals, which are rare.
#if defined(__AVX512BF16__) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
[[gnu::noinline, gnu::cold]] inline Register<float>::Short narrow_any(Vector<float> value) { return narrow_bits<8>(value); }
template <>
inline Register<float>::Short narrow<8>(Vector<float> value) {
  constexpr int quiet = 0x01, subnormal = 0x20, signalling = 0x80;
  if (_mm512_fpclass_ps_mask(value.native, quiet | subnormal | signalling) != 0) [[unlikely]]
    return narrow_any(value);
  return std::bit_cast<Register<float>::Short>(_mm512_cvtneps_pbh(value.native));
}
#endif

// The fp16 instructions round like narrow() and differ only for NaNs, so NaNs are first set to narrow()'s results.
#if defined(__F16C__) && defined(__AVX2__)
template <>
inline Register<float>::Short narrow<5>(Vector<float> value) {
  using V = Vector<float>;
  using Short = Register<float>::Short;
  const V::Unsigned canonical = (std::bit_cast<V::Unsigned>(value.native) & 0x8000'0000u) | 0x7FC0'0000u;
  const V::Native clean = value.native == value.native ? value.native : std::bit_cast<V::Native>(canonical);
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Short>(_mm512_maskz_cvtps_ph(0xFFFF, clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  return reinterpret_cast<Short>(_mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
}
template <>
inline Vector<float> widen<5>(Register<float>::Short raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return Vector<float>(_mm512_maskz_cvtph_ps(0xFFFF, reinterpret_cast<__m256i>(raw)));
#else
  return Vector<float>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(raw)));
#endif
}
#endif

}  // namespace detail

namespace detail {
template <class S, class T>
inline constexpr bool reads_as = std::is_same_v<S, T> || (std::is_same_v<S, double> ? std::is_same_v<T, float> : sizeof(T) == 2);
}  // namespace detail

/// The numbers at `from`, as S: fp32 from fp32, bf16, fp16 (exactly); fp64 from fp64, fp32.
template <class S, class T, class Count = Whole>
Vector<S> load(const T* from, Count count = {}) {
  using R = detail::Register<S>;
  static_assert(detail::reads_as<S, T>,
                "regimen: fp32 kernels read no fp64, fp64 kernels no 16 bits; a layer in As<T, ...> needs masters that T fits");
  if constexpr (std::is_same_v<S, T>) return Vector<S>(detail::read<typename R::Native>(from, count));
  else if constexpr (std::is_same_v<S, double>)
    return Vector<S>(__builtin_convertvector(detail::read<typename R::Single>(from, count), typename R::Native));
  else if constexpr (std::is_same_v<T, bf16>) return detail::widen<8>(detail::read<typename R::Short>(from, count));
  else return detail::widen<5>(detail::read<typename R::Short>(from, count));
}

/// `value` to `to`, rounded to nearest even: to fp32, bf16, fp16 from fp32; to fp64, fp32 from fp64.
template <class S, class T, class Count = Whole>
void store(Vector<S> value, T* to, Count count = {}) {
  using R = detail::Register<S>;
  static_assert(detail::reads_as<S, T>,
                "regimen: fp32 kernels write no fp64, fp64 kernels no 16 bits; a layer in As<T, ...> needs masters that T fits");
  if constexpr (std::is_same_v<S, T>) detail::write(value.native, to, count);
  else if constexpr (std::is_same_v<S, double>) detail::write(__builtin_convertvector(value.native, typename R::Single), to, count);
  else if constexpr (std::is_same_v<T, bf16>) detail::write(detail::narrow<8>(value), to, count);
  else detail::write(detail::narrow<5>(value), to, count);
}

/// The first `count` lanes of a, and 0 in the others, for sums over a short register.
template <class S>
Vector<S> zero_tail(Vector<S> a, Whole) {
  return a;
}
template <class S>
Vector<S> zero_tail(Vector<S> a, std::size_t count) {
  typename Vector<S>::Signed lane{};
  for (std::size_t i = 0; i < lanes<S>; ++i) lane[i] = static_cast<std::int32_t>(i);
  const auto used = lane < static_cast<std::int32_t>(count);
  return Vector<S>(used ? a.native : typename Vector<S>::Native{});
}

/// body(i, count) for i = begin, begin + lanes, ... below end: count is Whole{}, and for the last, short register the
/// number of elements left. Loads and stores take both, so a loop is written once.
template <class S, class Body>
[[gnu::always_inline]] inline void for_each_vector(std::size_t begin, std::size_t end, const Body& body) {
  std::size_t i = begin;
  for (; i + lanes<S> <= end; i += lanes<S>) body(i, Whole{});
  if (i < end) body(i, end - i);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
