// regimen/core/number.hpp — the element types: fp64, fp32, and the 16-bit formats as constexpr storage types.
#pragma once

#include <regimen/core/hd.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <typeindex>  // std::hash, as the smallest header that declares it

namespace regimen {

using fp64 = double;
using fp32 = float;

namespace detail {

/// std::bit_cast, about which nvcc warns in device code.
template <class To, class From>
REGIMEN_HD constexpr To bits_as(From value) {
  return __builtin_bit_cast(To, value);
}

/// The 16 bits of an IEEE-like format with `Exponent` exponent bits, from an fp32 value.
/// Rounds to nearest, ties to even; overflow becomes infinity, a NaN stays a (quiet) NaN, subnormals are exact.
template <int Exponent>
REGIMEN_HD constexpr std::uint16_t narrow(float value) {
  constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1, shift = 23 - mantissa;
  const std::uint32_t bits = bits_as<std::uint32_t>(value), magnitude = bits & 0x7FFF'FFFFu;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << mantissa;
  if (magnitude > 0x7F80'0000u) return static_cast<std::uint16_t>(sign | infinity | (1u << (mantissa - 1)));
  if constexpr (Exponent == 8) {  // the exponents agree: rounding the upper half carries into everything else
    return static_cast<std::uint16_t>(sign | ((magnitude + 0x7FFFu + ((magnitude >> shift) & 1u)) >> shift));
  } else {
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(127 - bias + 1) << 23;
    constexpr std::uint32_t overflow = static_cast<std::uint32_t>(127 + bias + 1) << 23;
    if (magnitude >= overflow) return static_cast<std::uint16_t>(sign | infinity);
    if (magnitude < smallest_normal) {  // subnormal: adding 2^(1-bias+23-mantissa) lets fp32 hardware do the rounding
      constexpr float magic = bits_as<float>(static_cast<std::uint32_t>(127 - bias + 1 + shift) << 23);
      const float rounded = bits_as<float>(magnitude) + magic;
      return static_cast<std::uint16_t>(sign | (bits_as<std::uint32_t>(rounded) - bits_as<std::uint32_t>(magic)));
    }
    const std::uint32_t rebased = magnitude - (static_cast<std::uint32_t>(127 - bias) << 23);
    return static_cast<std::uint16_t>(sign |
                                      ((rebased + (1u << (shift - 1)) - 1 + ((rebased >> shift) & 1u)) >> shift));
  }
}

template <int Exponent>
REGIMEN_HD constexpr float widen(std::uint16_t bits) {
  constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1, shift = 23 - mantissa;
  if constexpr (Exponent == 8) {
    return bits_as<float>(static_cast<std::uint32_t>(bits) << shift);
  } else {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
    constexpr std::uint32_t infinity = ((1u << Exponent) - 1) << mantissa;
    if (magnitude >= infinity) return bits_as<float>(sign | 0x7F80'0000u | (magnitude << shift));
    // A multiplication by 2^(127-bias) moves the exponent and normalises subnormals, both without rounding.
    constexpr float rebase = bits_as<float>(static_cast<std::uint32_t>(127 + 127 - bias) << 23);
    return bits_as<float>(sign | bits_as<std::uint32_t>(bits_as<float>(magnitude << shift) * rebase));
  }
}

/// What bf16 and fp16 share: storage only. They convert to fp32 without loss and from fp32 by rounding to nearest
/// even; their users compute in fp32. There is no conversion from fp64: rounding twice is not rounding once.
template <int Exponent>
struct half {
  std::uint16_t bits;

  half() = default;
  REGIMEN_HD constexpr explicit half(float value) : bits(narrow<Exponent>(value)) {}
  half(double) = delete;
  REGIMEN_HD constexpr operator float() const { return widen<Exponent>(bits); }
};

}  // namespace detail

/// 1 sign, 8 exponent, 7 mantissa bits: the range of fp32 (largest 3.39e38), a resolution of 2^-7.
struct bf16 final : detail::half<8> {
  using detail::half<8>::half;
};

/// 1 sign, 5 exponent, 10 mantissa bits: IEEE binary16. Largest 65504, smallest subnormal 2^-24, a resolution of 2^-10.
struct fp16 final : detail::half<5> {
  using detail::half<5>::half;
};

/// How products may read fp32: 1 sign, 8 exponent, 10 mantissa bits, in the 32 bits of an fp32 number. Rounds to
/// nearest, ties to even; overflow becomes infinity, a NaN stays a NaN. Nothing is stored in it: a tensor is fp32, and
/// a product whose factors are View<tf32> rounds them as it reads them.
struct tf32 final {
  std::uint32_t bits;

  tf32() = default;
  REGIMEN_HD constexpr explicit tf32(float value) : bits(rounded(detail::bits_as<std::uint32_t>(value))) {}
  tf32(double) = delete;
  REGIMEN_HD constexpr operator float() const { return detail::bits_as<float>(bits); }

 private:
  REGIMEN_HD static constexpr std::uint32_t rounded(std::uint32_t fp32_bits) {
    const bool is_nan = (fp32_bits & 0x7FFF'FFFFu) > 0x7F80'0000u;
    return is_nan ? fp32_bits | 0x0040'0000u : (fp32_bits + 0x0FFFu + (fp32_bits >> 13 & 1u)) & 0xFFFF'E000u;
  }
};

/// Declared, not defined: the error names what to write instead. With 4 or 5 exponent bits.
struct fp8_e4m3;
struct fp8_e5m2;

/// The number whose encoding is `bits`.
template <class Number>
REGIMEN_HD constexpr Number from_bits(std::uint16_t bits) {
  Number number{};
  number.bits = bits;
  return number;
}

namespace detail {

/// std::numeric_limits of the 16-bit formats.
template <class T, int Exponent>
struct limits_of_half {
  static constexpr int mantissa = 15 - Exponent, bias = (1 << (Exponent - 1)) - 1;
  static constexpr std::uint16_t infinite = ((1u << Exponent) - 1) << mantissa;
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, is_iec559 = true,
                        is_bounded = true, is_modulo = false, has_infinity = true, has_quiet_NaN = true,
                        has_signaling_NaN = true, has_denorm_loss = false, traps = false, tinyness_before = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = mantissa + 1, min_exponent = 2 - bias, max_exponent = bias + 1;
  // log10(2) is 0.30103
  static constexpr int digits10 = mantissa * 30103 / 100000, max_digits10 = digits * 30103 / 100000 + 2,
                       min_exponent10 = (min_exponent - 1) * 30103 / 100000,
                       max_exponent10 = max_exponent * 30103 / 100000;

  REGIMEN_HD static constexpr T(min)() { return from_bits<T>(std::uint16_t{1u << mantissa}); }
  REGIMEN_HD static constexpr T(max)() { return from_bits<T>(std::uint16_t{infinite - 1}); }
  REGIMEN_HD static constexpr T lowest() { return from_bits<T>(std::uint16_t{0x8000u | (infinite - 1)}); }
  REGIMEN_HD static constexpr T epsilon() { return from_bits<T>(std::uint16_t{(bias - mantissa) << mantissa}); }
  REGIMEN_HD static constexpr T round_error() { return from_bits<T>(std::uint16_t{(bias - 1) << mantissa}); }
  REGIMEN_HD static constexpr T infinity() { return from_bits<T>(infinite); }
  REGIMEN_HD static constexpr T quiet_NaN() { return from_bits<T>(std::uint16_t{infinite | 1u << (mantissa - 1)}); }
  REGIMEN_HD static constexpr T signaling_NaN() { return from_bits<T>(std::uint16_t{infinite | 1u}); }
  REGIMEN_HD static constexpr T denorm_min() { return from_bits<T>(std::uint16_t{1}); }
};

}  // namespace detail

template <class T>
concept Number =
    std::is_same_v<T, fp64> || std::is_same_v<T, fp32> || std::is_same_v<T, bf16> || std::is_same_v<T, fp16>;

/// What a model can compute in: an element type, or fp32 whose products read tf32.
template <class T>
concept ComputeType = Number<T> || std::is_same_v<T, tf32>;

/// The element type of tensors where T is computed.
template <class T>
using stored_t = std::conditional_t<std::is_same_v<T, tf32>, fp32, T>;

/// What statistics, softmax, cross-entropy, reductions and final outputs of T are computed in: at least fp32.
template <class T>
using statistic_t = std::conditional_t<std::is_same_v<T, fp64>, fp64, fp32>;

/// An element type as a value, where a table holds several.
enum class ElementType : unsigned char { float64, float32, bfloat16, float16 };
template <class T>
inline constexpr ElementType element_type_of = std::is_same_v<stored_t<T>, fp64>   ? ElementType::float64
                                               : std::is_same_v<stored_t<T>, fp32> ? ElementType::float32
                                               : std::is_same_v<stored_t<T>, bf16> ? ElementType::bfloat16
                                                                                   : ElementType::float16;
template <ElementType type>
using element_t = std::conditional_t<type == ElementType::float64, fp64,
                                     std::conditional_t<type == ElementType::float32, fp32,
                                                        std::conditional_t<type == ElementType::bfloat16, bf16, fp16>>>;
constexpr std::size_t bytes_of(ElementType type) {
  return type == ElementType::float64 ? 8 : type == ElementType::float32 ? 4 : 2;
}

/// f(a number of the type that `element` stands for).
template <class F>
decltype(auto) with_element(ElementType element, F&& f) {
  switch (element) {
    case ElementType::float64:
      return f(fp64{});
    case ElementType::float32:
      return f(fp32{});
    case ElementType::bfloat16:
      return f(bf16{});
    case ElementType::float16:
      break;
  }
  return f(fp16{});
}

/// Distance from 1 to the next larger number.
template <class T>
inline constexpr double epsilon_of = std::is_same_v<T, fp64>   ? 0x1p-52
                                     : std::is_same_v<T, fp32> ? 0x1p-23
                                     : std::is_same_v<T, bf16> ? 0x1p-7
                                                               : 0x1p-10;

/// The name that users write, for tables and logs.
template <class T>
inline constexpr const char* name_of = std::is_same_v<T, fp64>   ? "fp64"
                                       : std::is_same_v<T, fp32> ? "fp32"
                                       : std::is_same_v<T, bf16> ? "bf16"
                                       : std::is_same_v<T, fp16> ? "fp16"
                                       : std::is_same_v<T, tf32> ? "tf32"
                                                                 : "int32";

}  // namespace regimen

template <>
struct std::numeric_limits<regimen::bf16> : regimen::detail::limits_of_half<regimen::bf16, 8> {};
template <>
struct std::numeric_limits<regimen::fp16> : regimen::detail::limits_of_half<regimen::fp16, 5> {};
/// Numbers that compare equal have one hash: their bits, and 0 for both zeros.
template <>
struct std::hash<regimen::bf16> {
  std::size_t operator()(regimen::bf16 value) const noexcept { return (value.bits & 0x7FFF) == 0 ? 0 : value.bits; }
};
template <>
struct std::hash<regimen::fp16> {
  std::size_t operator()(regimen::fp16 value) const noexcept { return (value.bits & 0x7FFF) == 0 ? 0 : value.bits; }
};
// SPDX-License-Identifier: Apache-2.0
