// regimen/engine/cpu/narrow.hpp — a register of fp32 numbers to 16 bits and back.
#pragma once

#include <regimen/engine/cpu/vector.hpp>

#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace regimen::cpu::detail {

// Conversions between 16 and 32 bits, as intrinsics where compilers miss the single instruction.
inline Register<float>::Unsigned extend(Register<float>::Short raw) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return reinterpret_cast<Register<float>::Unsigned>(
      _mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(raw)));
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
  const __m256i pairs =
      _mm256_packus_epi32(reinterpret_cast<__m256i>(raw), reinterpret_cast<__m256i>(raw));  // within each half
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
#if defined(__AVX512BF16__) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
[[gnu::noinline, gnu::cold]] inline Register<float>::Short narrow_any(Vector<float> value) {
  return narrow_bits<8>(value);
}
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

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
