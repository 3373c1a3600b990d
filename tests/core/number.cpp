// tests/core/number.cpp — every bf16 and fp16, in both directions, against a decoder that knows only the definition.
#include <catch2/catch.hpp>

#include <regimen/core/number.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <unordered_set>

using namespace regimen;

namespace {

/// The value of an IEEE-like encoding, from its definition.
double decoded(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1),
                      exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1u << exponent_bits) - 1)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (exponent == 0) return sign * std::ldexp(double(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(double(mantissa | 1u << mantissa_bits), int(exponent) - bias - mantissa_bits);
}

template <class T>
constexpr int exponent_bits = std::is_same_v<T, bf16> ? 8 : 5;
template <class T>
double decoded(T value) {
  return decoded(value.bits, exponent_bits<T>, 15 - exponent_bits<T>);
}

template <class T>
std::uint16_t encoded(float value) {
  return T(value).bits;
}

}  // namespace

TEMPLATE_TEST_CASE("every 16-bit number widens to what its bits mean, and narrows back to the same bits", "", bf16,
                   fp16) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const TestType value = from_bits<TestType>(static_cast<std::uint16_t>(bits));
    const double expected = decoded(value);
    const float wide = value;
    if (std::isnan(expected)) {
      wrong += !std::isnan(wide) || !std::isnan(float(TestType(wide)));
    } else {
      wrong +=
          double(wide) != expected || std::signbit(wide) != std::signbit(expected) || encoded<TestType>(wide) != bits;
    }
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("narrowing rounds to nearest, and ties to even, between all neighbours", "", bf16, fp16) {
  constexpr std::uint32_t infinity = ((1u << exponent_bits<TestType>)-1) << (15 - exponent_bits<TestType>);
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const double low = decoded(from_bits<TestType>(static_cast<std::uint16_t>(bits)));
    // Beyond the largest number lies what would come next if the exponent went on: halfway there, rounding overflows.
    const double high = bits + 1 == infinity
                            ? 2 * low - decoded(from_bits<TestType>(static_cast<std::uint16_t>(bits - 1)))
                            : decoded(from_bits<TestType>(static_cast<std::uint16_t>(bits + 1)));
    const float middle = static_cast<float>((low + high) / 2);
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const float s = sign ? -1.0f : 1.0f;
      if (double(middle) == (low + high) / 2) wrong += encoded<TestType>(s * middle) != (sign | even);
      wrong += encoded<TestType>(s * std::nextafter(middle, 0.0f)) != (sign | bits);
      wrong +=
          encoded<TestType>(s * std::nextafter(middle, std::numeric_limits<float>::infinity())) != (sign | (bits + 1));
    }
  }
  CHECK(wrong == 0);
}

#if defined(__FLT16_MANT_DIG__)
TEST_CASE("fp16 rounds as the compiler's own half precision does") {
  int wrong = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 8191) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    wrong += std::isnan(value) ? !std::isnan(float(fp16(value))) : encoded<fp16>(value) != expected;
  }
  CHECK(wrong == 0);
}
#endif

TEMPLATE_TEST_CASE("what does not fit becomes infinity, and a NaN stays quiet and keeps its sign", "", bf16, fp16) {
  const float huge = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  CHECK(float(TestType(huge)) == infinity);
  CHECK(float(TestType(-huge)) == -infinity);
  CHECK(float(TestType(-infinity)) == -infinity);
  for (const std::uint32_t bits : {0x7F80'0001u, 0xFF80'0001u, 0x7FFF'FFFFu, 0xFFC0'0000u}) {
    const TestType value(std::bit_cast<float>(bits));
    CHECK(std::isnan(float(value)));
    CHECK((value.bits >> 15) == (bits >> 31));
    CHECK((value.bits >> (14 - exponent_bits<TestType>)&1) == 1);
  }
}

// All 2^19 encodings of tf32, and below each the fp32 numbers around it, the middle and the next.
TEST_CASE("tf32 rounds every fp32 number to the nearest of 11 significant bits, ties to even") {
  int wrong = 0;
  for (std::uint32_t top = 0; top < 1u << 19; ++top)
    for (const std::uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x1FFFu}) {
      const float value = std::bit_cast<float>(top << 13 | low);
      const tf32 rounded(value);
      if (std::isnan(value)) {
        wrong += !std::isnan(float(rounded)) || std::signbit(float(rounded)) != std::signbit(value);
        continue;
      }
      double expected = value;
      if (std::isfinite(value) && value != 0) {
        const int spacing = (std::max)(std::ilogb(value), -126) - 10;
        expected = std::ldexp(std::nearbyint(std::ldexp(double(value), -spacing)), spacing);
        if (std::fabs(expected) >= 0x1p128) expected = std::copysign(std::numeric_limits<double>::infinity(), expected);
      }
      wrong += double(float(rounded)) != expected || std::signbit(float(rounded)) != std::signbit(value) ||
               (rounded.bits & 0x1FFFu) != 0;
    }
  CHECK(wrong == 0);
}
static_assert(float(tf32(1.0f + 0x1p-11f)) == 1.0f && float(tf32(1.0f + 0x1.8p-10f)) == 1.0f + 0x1p-9f &&
              float(tf32(1.0f + 0x1.002p-11f)) == 1.0f + 0x1p-10f);
static_assert(sizeof(tf32) == 4 && element_type_of<tf32> == ElementType::float32 && !Number<tf32> &&
              ComputeType<tf32> && epsilon_of<tf32> == 0x1p-10 && !std::is_constructible_v<tf32, double>);

// The facts of the formats, known to the compiler.
static_assert(fp16(65504.0f).bits == 0x7BFF && float(from_bits<fp16>(0x7BFF)) == 65504.0f);
static_assert(fp16(65519.996f).bits == 0x7BFF && fp16(65520.0f).bits == 0x7C00);
static_assert(float(from_bits<fp16>(1)) == 0x1p-24f && fp16(0x1p-24f).bits == 1);
static_assert(fp16(0x1p-25f).bits == 0 && fp16(0x1.8p-25f).bits == 1);
static_assert(float(fp16(float(fp16(256.0f)) * float(fp16(256.0f)))) == std::numeric_limits<float>::infinity());
static_assert(float(fp16(float(fp16(1e-5f)) * float(fp16(1e-5f)))) == 0.0f);
static_assert(bf16(3.3895314e38f).bits == 0x7F7F && bf16(3.4e38f).bits == 0x7F80);
static_assert(bf16(1.0f + 0x1p-8f).bits == 0x3F80 && bf16(1.0f + 0x1.8p-7f).bits == 0x3F82);
static_assert(epsilon_of<bf16> == 0x1p-7 && epsilon_of<fp16> == 0x1p-10 && epsilon_of<fp32> == 0x1p-23);
static_assert(sizeof(bf16) == 2 && sizeof(fp16) == 2 && std::is_trivially_copyable_v<bf16> &&
              std::is_trivially_copyable_v<fp16>);
static_assert(!std::is_constructible_v<bf16, double> && !std::is_constructible_v<fp16, double>);

// What std::numeric_limits says is what the bits mean.
template <class T>
constexpr bool limits_hold() {
  using L = std::numeric_limits<T>;
  constexpr auto next = [](T value) { return float(from_bits<T>(static_cast<std::uint16_t>(value.bits + 1))); };
  constexpr auto before = [](T value) { return float(from_bits<T>(static_cast<std::uint16_t>(value.bits - 1))); };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float power = 1;
  for (int i = 1; i < L::digits; ++i) power /= 2;
  float least = 1, most = 1;
  for (int i = L::min_exponent; i < 0; ++i) least /= 2;
  for (int i = 1; i < L::max_exponent; ++i) most *= 2;
  return L::is_specialized && float(L::infinity()) == infinity && next(L::max()) == infinity &&
         float(L::lowest()) == -float(L::max()) && float(L::denorm_min()) == next(T(0.0f)) &&
         next(T(1.0f)) - 1 == float(L::epsilon()) && float(L::epsilon()) == power && float(L::round_error()) == 0.5f &&
         float(L::min()) == least / 2 && before(L::min()) < float(L::min()) && float(L::max()) == most * (2 - power) &&
         float(L::quiet_NaN()) != float(L::quiet_NaN()) && float(L::signaling_NaN()) != float(L::signaling_NaN()) &&
         L::signaling_NaN().bits != L::quiet_NaN().bits;
}
static_assert(limits_hold<fp16>() && limits_hold<bf16>());
static_assert(float(std::numeric_limits<fp16>::max()) == 65504 && float(std::numeric_limits<fp16>::min()) == 0x1p-14f &&
              float(std::numeric_limits<bf16>::min()) == std::numeric_limits<float>::min());
// Decimal digits: the largest and the smallest power of ten, what survives reading and writing, what tells all apart.
static_assert(std::numeric_limits<fp16>::max_exponent10 == 4 && std::numeric_limits<fp16>::min_exponent10 == -4 &&
              std::numeric_limits<fp16>::digits10 == 3 && std::numeric_limits<fp16>::max_digits10 == 5);
static_assert(std::numeric_limits<bf16>::max_exponent10 == 38 && std::numeric_limits<bf16>::min_exponent10 == -37 &&
              std::numeric_limits<bf16>::digits10 == 2 && std::numeric_limits<bf16>::max_digits10 == 4);

TEMPLATE_TEST_CASE("equal 16-bit numbers have one hash, others hardly ever", "", bf16, fp16) {
  CHECK(std::hash<TestType>{}(TestType(0.0f)) == std::hash<TestType>{}(TestType(-0.0f)));
  std::set<std::size_t> hashes;
  for (unsigned bits = 0; bits < 0x7C00; ++bits)
    hashes.insert(std::hash<TestType>{}(from_bits<TestType>(static_cast<std::uint16_t>(bits))));
  CHECK(hashes.size() == 0x7C00);
  CHECK(std::unordered_set<TestType>{TestType(1.0f), TestType(1.0f), TestType(2.0f)}.size() == 2);
}

// π in fp32: sign 0, exponent 128, mantissa 4788187.
constexpr std::uint32_t pi = std::bit_cast<std::uint32_t>(3.14159274f);
static_assert(pi >> 31 == 0 && (pi >> 23 & 0xFF) == 128 && (pi & 0x7FFFFF) == 4788187);
// SPDX-License-Identifier: Apache-2.0
