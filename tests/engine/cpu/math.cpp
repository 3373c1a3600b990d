// tests/engine/cpu/math.cpp — exp, sigmoid, tanh and erf against fp64, over the whole range of fp32.
#include <catch2/catch.hpp>

#include <regimen/core/activation.hpp>
#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/math.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace regimen;
using cpu::lanes;
using cpu::Vector;

namespace {

struct Worst {
  double error = 0;  // in units in the last place of the exact result, or of the smallest subnormal
  float at = 0;
  int wrong = 0;  // infinities and NaNs that do not agree
};

template <class Function, class Exact>
Worst worst_of(const Function& function, const Exact& exact, float low, float high) {
  Worst worst;
  constexpr std::uint32_t stride = 1009;  // a prime: all exponents, and mantissas of all kinds
  for (std::uint64_t first = 0; first < (std::uint64_t{1} << 32); first += stride * lanes<float>) {
    float x[lanes<float>];
    for (std::size_t i = 0; i < lanes<float>; ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * stride));
    const Vector<float> y = function(cpu::load<float>(x));
    for (std::size_t i = 0; i < lanes<float>; ++i) {
      if (std::isnan(x[i])) {
        worst.wrong += !std::isnan(y[i]);
        continue;
      }
      if (!(x[i] >= low && x[i] <= high)) continue;
      const double expected = exact(double(x[i]));
      if (std::isinf(y[i]) || std::isinf(float(expected)) || std::isnan(y[i])) {
        worst.wrong += !(y[i] == float(expected));
        continue;
      }
      int exponent = 0;
      std::frexp(expected, &exponent);
      const double error = std::fabs(double(y[i]) - expected) / std::ldexp(1.0, std::max(exponent - 24, -149));
      if (error > worst.error) worst.error = error, worst.at = x[i];
    }
  }
  return worst;
}

// Of one number.
float exp_of(float x) { return cpu::exp(Vector<float>(x))[0]; }
float sigmoid_of(float x) { return cpu::sigmoid(Vector<float>(x))[0]; }
float tanh_of(float x) { return cpu::tanh(Vector<float>(x))[0]; }
float erf_of(float x) { return cpu::erf(Vector<float>(x))[0]; }

constexpr float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();

}  // namespace

// The bounds are what math.hpp promises: measured over all fp32 numbers, then rounded up.

TEST_CASE("exp is within 1.02 ulp of e^x, gradually down to the smallest subnormal") {
  const Worst worst =
      worst_of([](Vector<float> x) { return cpu::exp(x); }, [](double x) { return std::exp(x); }, -largest, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 1.02);
  CHECK(exp_of(0.0f) == 1.0f);
  CHECK(exp_of(-0.0f) == 1.0f);
  CHECK(exp_of(infinity) == infinity);
  CHECK(exp_of(-infinity) == 0.0f);
  CHECK(exp_of(88.72f) < infinity);
  CHECK(exp_of(88.73f) == infinity);
  CHECK(exp_of(-103.0f) > 0.0f);
  CHECK(exp_of(-104.0f) == 0.0f);
}

TEST_CASE("sigmoid is within 2.5 ulp, also where it is tiny") {
  const Worst worst = worst_of([](Vector<float> x) { return cpu::sigmoid(x); },
                               [](double x) { return 1 / (1 + std::exp(-x)); }, -88.0f, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 2.5);
  CHECK(sigmoid_of(0.0f) == 0.5f);
  CHECK(sigmoid_of(infinity) == 1.0f);
  CHECK(sigmoid_of(-infinity) == 0.0f);
}

TEST_CASE("tanh is within 1.5 ulp and odd") {
  const Worst worst =
      worst_of([](Vector<float> x) { return cpu::tanh(x); }, [](double x) { return std::tanh(x); }, -largest, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 1.5);
  CHECK(tanh_of(infinity) == 1.0f);
  CHECK(tanh_of(-infinity) == -1.0f);
  for (const float x : {1e-30f, 0.1f, 0.7f, 3.0f, 20.0f}) CHECK(tanh_of(-x) == -tanh_of(x));
}

TEST_CASE("erf is within 1.5 ulp and odd") {
  const Worst worst =
      worst_of([](Vector<float> x) { return cpu::erf(x); }, [](double x) { return std::erf(x); }, -largest, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 1.5);
  CHECK(erf_of(infinity) == 1.0f);
  CHECK(erf_of(-infinity) == -1.0f);
  for (const float x : {1e-30f, 0.1f, 0.9f, 3.0f, 20.0f}) CHECK(erf_of(-x) == -erf_of(x));
}

TEST_CASE("a number's result does not depend on its lane or its neighbours") {
  float x[lanes<float>];
  for (std::size_t i = 0; i < lanes<float>; ++i) x[i] = 0.37f * float(i) - 2.0f;
  const Vector<float> v = cpu::load<float>(x);
  for (std::size_t i = 0; i < lanes<float>; ++i) {
    CHECK(cpu::exp(v)[i] == exp_of(x[i]));
    CHECK(cpu::sigmoid(v)[i] == sigmoid_of(x[i]));
    CHECK(cpu::tanh(v)[i] == tanh_of(x[i]));
    CHECK(cpu::erf(v)[i] == erf_of(x[i]));
  }
}

#if defined(__x86_64__)
namespace {

/// Of the results for inputs of all exponents, in order; one NaN is as good as another.
template <class Function>
std::uint32_t hash_of(const Function& function) {
  std::uint32_t hash = 0;
  constexpr std::uint32_t stride = 1009;
  for (std::uint64_t first = 0; first < (std::uint64_t{1} << 32); first += stride * lanes<float>) {
    float x[lanes<float>];
    for (std::size_t i = 0; i < lanes<float>; ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * stride));
    const Vector<float> y = function(cpu::load<float>(x));
    for (std::size_t i = 0; i < lanes<float> && first + i * stride < (std::uint64_t{1} << 32); ++i)
      hash = hash * 0x9E37'79B1u + (std::isnan(y[i]) ? 0x7FC0'0000u : std::bit_cast<std::uint32_t>(y[i]));
  }
  return hash;
}

template <class Activation>
std::uint32_t hash_of_value() {
  return hash_of([](Vector<float> x) { return cpu::detail::Formula<Activation, float>::value(x); });
}
template <class Activation>
std::uint32_t hash_of_derivative() {
  return hash_of([](Vector<float> x) { return cpu::detail::Formula<Activation, float>::derivative(x); });
}

}  // namespace

// Recorded; programs for processors with and without AVX-512 meet as ranks of one run. Only fused multiply-adds decide
// bits, which ranks compare (machine.hpp).
TEST_CASE("a number's bits depend on no width of registers and no instruction but the fused multiply-add") {
#if defined(__FMA__)
  constexpr bool fused = true;
#else
  constexpr bool fused = false;
#endif
  CHECK(hash_of([](Vector<float> x) { return cpu::exp(x); }) == (fused ? 0x6D91'7374u : 0xD8A8'ECD8u));
  CHECK(hash_of([](Vector<float> x) { return cpu::sigmoid(x); }) == (fused ? 0xF4B4'8310u : 0xBB4C'3A45u));
  CHECK(hash_of([](Vector<float> x) { return cpu::tanh(x); }) == (fused ? 0xC4D4'F86Du : 0x1E5D'820Cu));
  CHECK(hash_of([](Vector<float> x) { return cpu::erf(x); }) == (fused ? 0x2B92'65A2u : 0x23BF'E207u));
  CHECK(hash_of_value<activation::Silu>() == (fused ? 0xC83B'7A0Eu : 0x95F4'767Au));
  CHECK(hash_of_value<activation::GeluErf>() == (fused ? 0xDD15'5223u : 0xE887'D6A3u));
  CHECK(hash_of_value<activation::GeluTanh>() == (fused ? 0x2B3D'965Cu : 0x299E'4571u));
  CHECK(hash_of_derivative<activation::Silu>() == (fused ? 0xDE45'6859u : 0x1BD3'23F8u));
  CHECK(hash_of_derivative<activation::GeluErf>() == (fused ? 0xF9C6'1E55u : 0xE3D0'9D71u));
  CHECK(hash_of_derivative<activation::GeluTanh>() == (fused ? 0x857B'F53Au : 0x4367'F968u));
}
#endif

TEST_CASE("fp64 is the standard library's, lane by lane") {
  volatile double first = -3.0;  // compilers round constants better than the library does
  double x[lanes<double>];
  for (std::size_t i = 0; i < lanes<double>; ++i) x[i] = 1.1 * double(i) + first;
  const Vector<double> v = cpu::load<double>(x);
  for (std::size_t i = 0; i < lanes<double>; ++i) {
    CHECK(cpu::exp(v)[i] == std::exp(x[i]));
    CHECK(cpu::tanh(v)[i] == std::tanh(x[i]));
    CHECK(cpu::erf(v)[i] == std::erf(x[i]));
    CHECK(std::fabs(cpu::sigmoid(v)[i] * (1 + std::exp(-x[i])) - 1) < 1e-15);
  }
}
// SPDX-License-Identifier: Apache-2.0
