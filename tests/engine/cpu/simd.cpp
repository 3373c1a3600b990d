// tests/engine/cpu/simd.cpp — a register computes, converts and stores as its lanes would one by one.
#include <catch2/catch.hpp>

#include <regimen/engine/cpu/simd.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

using namespace regimen;
using cpu::lanes;
using cpu::Vector;

TEMPLATE_TEST_CASE("a load widens every 16-bit number as the scalar does", "", bf16, fp16) {
  constexpr std::size_t width = lanes<float>;
  int wrong = 0;
  for (std::uint32_t first = 0; first <= 0xFFFF; first += width) {
    TestType raw[width];
    for (std::size_t i = 0; i < width; ++i) raw[i] = from_bits<TestType>(static_cast<std::uint16_t>(first + i));
    const Vector<float> wide = cpu::load<float>(raw);
    for (std::size_t i = 0; i < width; ++i) {
      const float expected = raw[i];
      // Hardware quietens a signalling NaN; which NaN it is says nothing.
      wrong += std::isnan(expected) ? !std::isnan(wide[i])
                                    : std::bit_cast<std::uint32_t>(wide[i]) != std::bit_cast<std::uint32_t>(expected);
    }
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("a store rounds to the very bits that the scalar rounds to", "", bf16, fp16) {
  constexpr std::size_t width = lanes<float>;
  std::vector<float> inputs;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 997)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t bits = 0; bits < 0xFFFF; ++bits) {  // all midpoints, and their neighbours
    const std::uint32_t low =
        std::bit_cast<std::uint32_t>(float(from_bits<TestType>(static_cast<std::uint16_t>(bits))));
    const std::uint32_t high =
        std::bit_cast<std::uint32_t>(float(from_bits<TestType>(static_cast<std::uint16_t>(bits + 1))));
    for (int step = -1; step <= 1; ++step)
      inputs.push_back(std::bit_cast<float>(low + (high - low) / 2 + static_cast<std::uint32_t>(step)));
  }
  inputs.resize((inputs.size() + width - 1) / width * width);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < inputs.size(); i += width) {
    TestType narrow[width];
    cpu::store(cpu::load<float>(inputs.data() + i), narrow);
    for (std::size_t k = 0; k < width; ++k) wrong += narrow[k].bits != TestType(inputs[i + k]).bits;
  }
  CHECK(wrong == 0);
}

namespace {

template <class S, class T>
bool short_registers_touch_only_what_they_should() {
  bool right = true;
  for (std::size_t count = 1; count < lanes<S>; ++count) {
    std::vector<T> from(count), to(lanes<S> + 1);  // exactly `count`: an address sanitizer sees a longer read
    for (std::size_t i = 0; i < count; ++i) from[i] = T(static_cast<float>(i + 1));
    std::memset(static_cast<void*>(to.data()), 0xA5, to.size() * sizeof(T));
    const Vector<S> loaded = cpu::load<S>(from.data(), count);
    for (std::size_t i = 0; i < lanes<S>; ++i) right &= loaded[i] == (i < count ? static_cast<S>(i + 1) : S(0));
    cpu::store(loaded + S(1), to.data(), count);
    for (std::size_t i = 0; i < count; ++i) right &= static_cast<S>(to[i]) == static_cast<S>(i + 2);
    std::vector<unsigned char> rest((to.size() - count) * sizeof(T));
    std::memcpy(rest.data(), to.data() + count, rest.size());
    for (const unsigned char byte : rest) right &= byte == 0xA5;
  }
  return right;
}

}  // namespace

TEST_CASE("a short register reads and writes no more than its count") {
  CHECK(short_registers_touch_only_what_they_should<float, float>());
  CHECK(short_registers_touch_only_what_they_should<float, bf16>());
  CHECK(short_registers_touch_only_what_they_should<float, fp16>());
  CHECK(short_registers_touch_only_what_they_should<double, double>());
  CHECK(short_registers_touch_only_what_they_should<double, float>());
}

TEMPLATE_TEST_CASE("arithmetic, comparisons and selection work lane by lane", "", float, double) {
  using S = TestType;
  constexpr std::size_t width = lanes<S>;
  const S nan = std::numeric_limits<S>::quiet_NaN();
  S a[width], b[width];
  for (std::size_t i = 0; i < width; ++i) {
    a[i] = static_cast<S>(i) - S(2.5);
    b[i] = i % 3 == 0 ? a[i] : S(1) / static_cast<S>(i + 1);
  }
  const Vector<S> x = cpu::load<S>(a), y = cpu::load<S>(b);
  for (std::size_t i = 0; i < width; ++i) {
    CHECK((x + y)[i] == a[i] + b[i]);
    CHECK((x - y)[i] == a[i] - b[i]);
    CHECK((x * y)[i] == a[i] * b[i]);
    CHECK((x / y)[i] == a[i] / b[i]);
    CHECK((-x)[i] == -a[i]);
    CHECK(abs(x)[i] == std::fabs(a[i]));
    CHECK(sqrt(abs(x))[i] == std::sqrt(std::fabs(a[i])));
    CHECK(min(x, y)[i] == std::fmin(a[i], b[i]));
    CHECK(max(x, y)[i] == std::fmax(a[i], b[i]));
    CHECK(select(x < y, x, y)[i] == (a[i] < b[i] ? a[i] : b[i]));
    CHECK(select((x <= y) & ~(x == y), x, y)[i] == (a[i] < b[i] ? a[i] : b[i]));
    CHECK(select((x > y) | (x != y), x, y)[i] == (a[i] != b[i] ? a[i] : b[i]));
    CHECK(std::fabs(multiply_add(x, y, x)[i] - (a[i] * b[i] + a[i])) <=
          std::numeric_limits<S>::epsilon() * std::fabs(a[i] * b[i]));
  }
  CHECK(std::signbit(Vector<S>(S(-0.0))[0]));
  CHECK(min(Vector<S>(S(3)), Vector<S>(nan))[0] == S(3));
  CHECK(max(Vector<S>(S(3)), Vector<S>(nan))[0] == S(3));
  CHECK(std::isnan(min(Vector<S>(nan), Vector<S>(S(3)))[0]));
  CHECK(std::isnan(sqrt(Vector<S>(S(-1)))[0]));
}

TEMPLATE_TEST_CASE("a sum adds halves onto halves, in this order and no other", "", float, double) {
  using S = TestType;
  constexpr std::size_t width = lanes<S>;
  S values[width], tree[width];
  for (std::size_t i = 0; i < width; ++i)
    tree[i] = values[i] = S(1) / static_cast<S>(3 * i + 1) * (i % 2 == 0 ? S(1e5) : S(-1));
  for (std::size_t half = width / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) tree[i] += tree[i + half];
  }
  CHECK(sum(cpu::load<S>(values)) == tree[0]);
  for (std::size_t at = 0; at < width; ++at) {
    S peak[width] = {};
    peak[at] = S(2);
    CHECK(maximum(cpu::load<S>(peak)) == S(2));
  }
}

TEST_CASE("zero_tail clears the lanes beyond a count") {
  const Vector<float> ones = 1.0f;
  for (std::size_t count = 1; count < lanes<float>; ++count) CHECK(sum(zero_tail(ones, count)) == float(count));
  CHECK(sum(zero_tail(ones, cpu::Whole{})) == float(lanes<float>));
  CHECK(sum(zero_tail(Vector<float>(std::numeric_limits<float>::quiet_NaN()), std::size_t{0})) == 0.0f);
}

TEST_CASE("a loop over registers visits every element once") {
  for (const std::size_t begin : std::initializer_list<std::size_t>{0, 1, 5}) {
    for (std::size_t end = begin; end < begin + 3 * lanes<float> + 2; ++end) {
      std::vector<int> visits(end + 1);
      cpu::for_each_vector<float>(begin, end, [&](std::size_t i, auto n) {
        for (std::size_t k = 0; k < cpu::lanes_used<float>(n); ++k) ++visits[i + k];
      });
      bool right = true;
      for (std::size_t i = 0; i <= end; ++i) right &= visits[i] == (i >= begin && i < end);
      CHECK(right);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
