// regimen/engine/cpu/simd.hpp — registers from memory and back in every number format, and loops over them.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/vector.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace regimen::cpu {

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
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 4)
    return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 8)
    return reinterpret_cast<Raw>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 4)
    return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi32(static_cast<__mmask8>(mask), from));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 2)
    return reinterpret_cast<Raw>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), from));
#endif
  constexpr std::size_t room = sizeof(Raw) / sizeof(Element);
  std::uint8_t buffer[sizeof(Raw)] = {};
  for (std::size_t i = 0; i < room && i < count; ++i)
    std::memcpy(buffer + i * sizeof(Element), from + i, sizeof(Element));
  return read<Raw>(buffer, Whole{});
}
template <class Raw, class Element>
void write(Raw raw, Element* to, std::size_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
  // nvcc refuses a reinterpret_cast from a template's type to a register's.
  const unsigned mask = (1u << count) - 1u;
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 4)
    return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), __builtin_bit_cast(__m512i, raw));
  if constexpr (sizeof(Raw) == 64 && sizeof(Element) == 8)
    return _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), __builtin_bit_cast(__m512i, raw));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 4)
    return _mm256_mask_storeu_epi32(to, static_cast<__mmask8>(mask), __builtin_bit_cast(__m256i, raw));
  if constexpr (sizeof(Raw) == 32 && sizeof(Element) == 2)
    return _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(mask), __builtin_bit_cast(__m256i, raw));
#endif
  constexpr std::size_t room = sizeof(Raw) / sizeof(Element);
  std::uint8_t buffer[sizeof(Raw)];
  write(raw, buffer, Whole{});
  for (std::size_t i = 0; i < room && i < count; ++i)
    std::memcpy(to + i, buffer + i * sizeof(Element), sizeof(Element));
}

using Words = Register<float>::Unsigned;  // 32 bits, and 16 bits of each
using Halves = Register<float>::Short;

// Conversions between 16 and 32 bits, as intrinsics where compilers miss the single instruction.
inline Words extend(Halves raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(raw)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(raw)));
#else
  return __builtin_convertvector(raw, Words);
#endif
}
inline Halves truncate(Words raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Halves>(_mm512_maskz_cvtepi32_epi16(0xFFFF, reinterpret_cast<__m512i>(raw)));
#elif defined(__AVX2__)
  const __m256i pairs =
      _mm256_packus_epi32(reinterpret_cast<__m256i>(raw), reinterpret_cast<__m256i>(raw));  // within each half
  return reinterpret_cast<Halves>(_mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0b1000)));
#else
  return __builtin_convertvector(raw, Halves);
#endif
}

/// regimen::detail::narrow and widen, a register at a time.
template <int Exponent>
Halves narrow_bits(Vector<float> value) {
  using V = Vector<float>;
  constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1, shift = 23 - mantissa;
  const Words bits = std::bit_cast<Words>(value.native), magnitude = bits & 0x7FFF'FFFFu, sign = (bits >> 16) & 0x8000u;
  constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << mantissa, quiet = infinity | (1u << (mantissa - 1));
  Words rounded;
  if constexpr (Exponent == 8) {
    rounded = (magnitude + 0x7FFFu + ((magnitude >> shift) & 1u)) >> shift;
  } else {
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(127 - bias + 1) << 23;
    constexpr std::uint32_t overflow = static_cast<std::uint32_t>(127 + bias + 1) << 23;
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 - bias + 1 + shift) << 23;
    const V shifted = V(std::bit_cast<V::Native>(magnitude)) + V(std::bit_cast<float>(magic));
    const Words subnormal = std::bit_cast<Words>(shifted.native) - magic;
    const Words rebased = magnitude - (static_cast<std::uint32_t>(127 - bias) << 23);
    const Words normal = (rebased + ((1u << (shift - 1)) - 1) + ((rebased >> shift) & 1u)) >> shift;
    rounded = magnitude < smallest_normal ? subnormal : normal;
    rounded = magnitude >= overflow ? Words{} + infinity : rounded;
  }
  rounded = magnitude > 0x7F80'0000u ? Words{} + quiet : rounded;
  return truncate(sign | rounded);
}
template <int Exponent>
Halves narrow(Vector<float> value) {
  return narrow_bits<Exponent>(value);
}

template <int Exponent>
Vector<float> widen(Halves raw) {
  using V = Vector<float>;
  constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1, shift = 23 - mantissa;
  const Words bits = extend(raw);
  if constexpr (Exponent == 8) {
    return V(std::bit_cast<V::Native>(bits << shift));
  } else {
    constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << mantissa;
    constexpr float rebase = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 127 - bias) << 23);
    const Words sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
    const V finite = V(std::bit_cast<V::Native>(magnitude << shift)) * V(rebase);
    const Words special = 0x7F80'0000u | (magnitude << shift);
    return V(std::bit_cast<V::Native>(sign | (magnitude >= infinity ? special : std::bit_cast<Words>(finite.native))));
  }
}

// The bf16 instruction rounds like narrow_bits() except for NaNs and subnormals, which are rare.
#if defined(__AVX512BF16__) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
[[gnu::noinline, gnu::cold]] inline Halves narrow_any(Vector<float> value) { return narrow_bits<8>(value); }
template <>
inline Halves narrow<8>(Vector<float> value) {
  constexpr int quiet = 0x01, subnormal = 0x20, signalling = 0x80;
  if (_mm512_fpclass_ps_mask(value.native, quiet | subnormal | signalling) != 0) [[unlikely]]
    return narrow_any(value);
  return std::bit_cast<Halves>(_mm512_cvtneps_pbh(value.native));
}
#endif

// The fp16 instructions round like narrow() and differ only for NaNs, so NaNs are first set to narrow()'s results.
#if defined(__F16C__) && defined(__AVX2__)
template <>
inline Halves narrow<5>(Vector<float> value) {
  using V = Vector<float>;
  const Words canonical = (std::bit_cast<Words>(value.native) & 0x8000'0000u) | 0x7FC0'0000u;
  const V::Native clean = value.native == value.native ? value.native : std::bit_cast<V::Native>(canonical);
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Halves>(_mm512_maskz_cvtps_ph(0xFFFF, clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  return reinterpret_cast<Halves>(_mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
}
template <>
inline Vector<float> widen<5>(Halves raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return Vector<float>(_mm512_maskz_cvtph_ps(0xFFFF, reinterpret_cast<__m256i>(raw)));
#else
  return Vector<float>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(raw)));
#endif
}
#endif

template <class S, class T>
inline constexpr bool reads_as =
    std::is_same_v<S, T> || (std::is_same_v<S, double> ? std::is_same_v<T, float> : sizeof(T) == 2);

}  // namespace detail

/// The numbers at `from`, as S: fp32 from fp32, bf16, fp16 (exactly); fp64 from fp64, fp32.
template <class S, class T, class Count = Whole>
Vector<S> load(const T* from, Count count = {}) {
  using R = detail::Register<S>;
  static_assert(
      detail::reads_as<S, T>,
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
  static_assert(
      detail::reads_as<S, T>,
      "regimen: fp32 kernels write no fp64, fp64 kernels no 16 bits; a layer in As<T, ...> needs masters that T fits");
  if constexpr (std::is_same_v<S, T>) detail::write(value.native, to, count);
  else if constexpr (std::is_same_v<S, double>)
    detail::write(__builtin_convertvector(value.native, typename R::Single), to, count);
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

namespace detail {

/// A row of sums to `to`, rounded once, or added to it. `from` has room for whole registers.
template <class S, class T>
void write_row(T* to, const S* from, std::size_t columns, bool add) {
  for_each_vector<S>(0, columns, [&](std::size_t j, auto part) {
    const Vector<S> value = load<S>(from + j);
    store<S>(add ? load<S>(to + j, part) + value : value, to + j, part);
  });
}

}  // namespace detail
}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
