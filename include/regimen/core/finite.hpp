// regimen/core/finite.hpp — whether a number is finite, decided from its bits.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>

#include <cstdint>
#include <type_traits>

namespace regimen {

namespace detail {

/// A value that the compiler knows nothing about: under -ffast-math it assumes that results of arithmetic, and their
/// bits, are finite.
template <class Bits>
REGIMEN_HD inline Bits opaque(Bits bits) {
#if !defined(__CUDACC__)
  __asm__("" : "+r"(bits));
#endif
  return bits;
}

/// The bits without the sign, and the bits of infinity; every NaN lies above infinity.
REGIMEN_HD inline std::uint64_t magnitude_of(double x) {
  return opaque(bits_as<std::uint64_t>(x)) & 0x7FFF'FFFF'FFFF'FFFFu;
}
REGIMEN_HD inline std::uint32_t magnitude_of(float x) { return opaque(bits_as<std::uint32_t>(x)) & 0x7FFF'FFFFu; }
template <int Exponent>
REGIMEN_HD std::uint32_t magnitude_of(half<Exponent> x) {
  return x.bits & 0x7FFFu;
}
template <class T>
inline constexpr auto infinity_bits = std::is_same_v<T, fp64>   ? 0x7FF0'0000'0000'0000u
                                      : std::is_same_v<T, fp32> ? 0x7F80'0000u
                                      : std::is_same_v<T, bf16> ? 0x7F80u
                                                                : 0x7C00u;

}  // namespace detail

/// Neither NaN nor infinite, whatever the compiler's options: std::isfinite is always true under -ffast-math.
template <Number T>
REGIMEN_HD bool is_finite(T x) {
  return detail::magnitude_of(x) < detail::infinity_bits<T>;
}
template <Number T>
REGIMEN_HD bool is_nan(T x) {
  return detail::magnitude_of(x) > detail::infinity_bits<T>;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
