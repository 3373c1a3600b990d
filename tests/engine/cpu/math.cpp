// tests/engine/cpu/math.cpp — exp, sigmoid, tanh and erf against fp64, over the whole range of fp32.
#include <catch2/catch.hpp>

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
    for (std::size_t i = 0; i < lanes<float>; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * stride));
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

constexpr float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();

}  // namespace

// The bounds are what math.hpp promises: measured over all fp32 numbers, then rounded up.

TEST_CASE("exp is within 1.02 ulp of e^x, gradually down to the smallest subnormal") {
  const Worst worst = worst_of([](Vector<float> x) { return cpu::exp(x); }, [](double x) { return std::exp(x); }, -largest, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 1.02);
  CHECK(cpu::exp(0.0f) == 1.0f);
  CHECK(cpu::exp(-0.0f) == 1.0f);
  CHECK(cpu::exp(infinity) == infinity);
  CHECK(cpu::exp(-infinity) == 0.0f);
  CHECK(cpu::exp(88.72f) < infinity);
  CHECK(cpu::exp(88.73f) == infinity);
  CHECK(cpu::exp(-103.0f) > 0.0f);
  CHECK(cpu::exp(-104.0f) == 0.0f);
}

TEST_CASE("sigmoid is within 2.5 ulp, also where it is tiny") {
  const Worst worst = worst_of([](Vector<float> x) { return cpu::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -88.0f, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 2.5);
  CHECK(cpu::sigmoid(0.0f) == 0.5f);
  CHECK(cpu::sigmoid(infinity) == 1.0f);
  CHECK(cpu::sigmoid(-infinity) == 0.0f);
}

TEST_CASE("tanh is within 1.5 ulp and odd") {
  const Worst worst = worst_of([](Vector<float> x) { return cpu::tanh(x); }, [](double x) { return std::tanh(x); }, -largest, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 1.5);
  CHECK(cpu::tanh(infinity) == 1.0f);
  CHECK(cpu::tanh(-infinity) == -1.0f);
  for (const float x : {1e-30f, 0.1f, 0.7f, 3.0f, 20.0f}) CHECK(cpu::tanh(-x) == -cpu::tanh(x));
}

TEST_CASE("erf is within 1.5 ulp and odd") {
  const Worst worst = worst_of([](Vector<float> x) { return cpu::erf(x); }, [](double x) { return std::erf(x); }, -largest, largest);
  INFO("worst at " << worst.at);
  CHECK(worst.wrong == 0);
  CHECK(worst.error < 1.5);
  CHECK(cpu::erf(infinity) == 1.0f);
  CHECK(cpu::erf(-infinity) == -1.0f);
  for (const float x : {1e-30f, 0.1f, 0.9f, 3.0f, 20.0f}) CHECK(cpu::erf(-x) == -cpu::erf(x));
}

TEST_CASE("a number's result does not depend on its lane or its neighbours") {
  float x[lanes<float>];
  for (std::size_t i = 0; i < lanes<float>; ++i) x[i] = 0.37f * float(i) - 2.0f;
  const Vector<float> v = cpu::load<float>(x);
  for (std::size_t i = 0; i < lanes<float>; ++i) {
    CHECK(cpu::exp(v)[i] == cpu::exp(x[i]));
    CHECK(cpu::sigmoid(v)[i] == cpu::sigmoid(x[i]));
    CHECK(cpu::tanh(v)[i] == cpu::tanh(x[i]));
    CHECK(cpu::erf(v)[i] == cpu::erf(x[i]));
  }
}

TEST_CASE("fp64 is the standard library's, lane by lane") {
  double x[lanes<double>];
  for (std::size_t i = 0; i < lanes<double>; ++i) x[i] = 1.1 * double(i) - 3.0;
  const Vector<double> v = cpu::load<double>(x);
  for (std::size_t i = 0; i < lanes<double>; ++i) {
    CHECK(cpu::exp(v)[i] == std::exp(x[i]));
    CHECK(cpu::tanh(v)[i] == std::tanh(x[i]));
    CHECK(cpu::erf(v)[i] == std::erf(x[i]));
    CHECK(std::fabs(cpu::sigmoid(v)[i] * (1 + std::exp(-x[i])) - 1) < 1e-15);
  }
}
// SPDX-License-Identifier: Apache-2.0
