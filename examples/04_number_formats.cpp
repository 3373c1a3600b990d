// examples/04_number_formats.cpp — lesson 4: which numbers 16 bits can represent, and the reasons for mixed precision.
//
// The compiler checks everything that this program prints: the static_asserts are the lesson.
#include <regimen/core/number.hpp>

#include "program.hpp"

#include <bit>
#include <cstdint>
#include <cstdio>

using namespace regimen;

// ---- 1. Encoding: (-1)^sign · 2^(exponent − bias) · (1 + mantissa / 2^bits)
constexpr float pi = 3.14159265358979f;
constexpr std::uint32_t pi_bits = std::bit_cast<std::uint32_t>(pi);
static_assert(pi_bits >> 31 == 0 && (pi_bits >> 23 & 0xFF) == 128 && (pi_bits & 0x7F'FFFF) == 4'788'187);
static_assert(float(fp16(pi)) == 3.140625f && float(bf16(pi)) == 3.140625f);   // both formats happen to give the same number
static_assert(float(fp16(2.71828183f)) == 2.71875f && float(bf16(2.71828183f)) == 2.71875f);
static_assert(float(fp16(1.4142135f)) == 1.4140625f && float(bf16(1.4142135f)) == 1.4140625f);
static_assert(float(fp16(1.1f)) == 1.099609375f && float(bf16(1.1f)) == 1.1015625f);   // but not for 1.1

// ---- 2. Resolution: the distance from 1 to the next number
static_assert(float(from_bits<fp16>(0x3C01)) - 1 == 0x1p-10f && float(from_bits<bf16>(0x3F81)) - 1 == 0x1p-7f);
static_assert(float(fp16(2049.0f)) == 2048.0f && float(bf16(257.0f)) == 256.0f);       // whole numbers end here

// ---- 3. Range
constexpr fp16 largest16 = from_bits<fp16>(0x7BFF), smallest16 = from_bits<fp16>(0x0001);
constexpr bf16 largest_b = from_bits<bf16>(0x7F7F), smallest_b = from_bits<bf16>(0x0001);
static_assert(float(largest16) == 65504.0f && float(smallest16) == 0x1p-24f);
static_assert(float(largest_b) == 0x1.FEp127f && float(smallest_b) == 0x1p-133f);

// ---- 4. Overflow: the square of 256 overflows fp16. Softmax and norms exponentiate and
// square, so they compute in fp32.
constexpr fp16 big16(256.0f);
constexpr bf16 big_b(256.0f);
constexpr float infinity = std::numeric_limits<float>::infinity();
static_assert(float(fp16(big16 * big16)) == infinity && float(bf16(big_b * big_b)) == 65536.0f);

// ---- 5. Underflow: small gradients vanish in fp16. So a scale multiplies the loss, and
// gradients are divided by it in fp32.
constexpr fp16 small16(1e-5f);
constexpr bf16 small_b(1e-5f);
static_assert(float(fp16(small16 * small16)) == 0.0f && float(bf16(small_b * small_b)) > 0.0f);
constexpr float gradient = 1e-8f, scale = 32768.0f;                                     // LossScale<Dynamic> begins there
static_assert(float(fp16(gradient)) == 0.0f && float(fp16(gradient * scale)) / scale > 0.99e-8f);

// ---- 6. Updates that are too small: 1 + 1e-6 is 1 in both. So the optimizer works on fp32
// weights: Precision<bf16, fp32>.
static_assert(float(fp16(fp16(1.0f) + 1e-6f)) == 1.0f && float(bf16(bf16(1.0f) + 1e-6f)) == 1.0f && 1.0f + 1e-6f > 1.0f);
static_assert(float(fp16(1.0f + 0x1p-11f)) == 1.0f && float(bf16(1.0f + 0x1p-8f)) == 1.0f);   // half the resolution: a tie, to even

int main(int argc, char** argv) {
  program::CommandLine line("What fp32, bf16 and fp16 can hold, in six tables.");
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto row = [](const char* what, double full, double brain, double half) { std::printf("  %-34s %14.8g %14.8g %14.8g\n", what, full, brain, half); };
  std::printf("  %-34s %14s %14s %14s\n", "", "fp32", "bf16", "fp16");
  std::printf("1. encoding: pi = (-1)^%u * 2^(%u - 127) * (1 + %u / 2^23)\n", pi_bits >> 31, pi_bits >> 23 & 0xFF, pi_bits & 0x7F'FFFF);
  row("pi", pi, bf16(pi), fp16(pi));
  row("1.1", 1.1f, bf16(1.1f), fp16(1.1f));
  std::puts("2. resolution");
  row("from 1 to the next number", epsilon_of<fp32>, epsilon_of<bf16>, epsilon_of<fp16>);
  row("2049", 2049, bf16(2049.0f), fp16(2049.0f));
  std::puts("3. range");
  row("largest", 0x1.FFFFFEp127, largest_b, largest16);
  row("smallest above 0", 0x1p-149, smallest_b, smallest16);
  std::puts("4. overflow");
  row("256 * 256", 65536, bf16(big_b * big_b), fp16(big16 * big16));
  std::puts("5. underflow");
  row("1e-5 * 1e-5", 1e-5f * 1e-5f, bf16(small_b * small_b), fp16(small16 * small16));
  row("a gradient of 1e-8", gradient, bf16(gradient), fp16(gradient));
  row("the same with a loss scale of 2^15", gradient, bf16(gradient * scale) / scale, fp16(gradient * scale) / scale);
  std::puts("6. updates that are too small");
  row("(1 + 1e-6) - 1", (1.0f + 1e-6f) - 1, bf16(bf16(1.0f) + 1e-6f) - 1, fp16(fp16(1.0f) + 1e-6f) - 1);
  return program::finished(program::ok);
}
// SPDX-License-Identifier: Apache-2.0
