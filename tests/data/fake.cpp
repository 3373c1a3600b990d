// Made-up data: deterministic, with the moments and the patterns that the documentation states.
#include <regimen/data/fake.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>

using namespace regimen;
using test::error_of;
using test::says;

static_assert(Source<Fake, float, std::int32_t> && Source<Fake, double, std::int32_t> && Source<Fake, float, float>);
static_assert(Source<Fake, std::int32_t, std::int32_t>);

TEST_CASE("fake floats are centred on their class, and doubles are the same numbers") {
  const Fake fake({.samples = 2000, .classes = 10, .seed = 4});
  REQUIRE(fake.size({.input = 50, .target = 1, .vocabulary_or_classes = 10}) == 2000);
  double noise = 0, square = 0, shifted = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    float input[50];
    double precise[50];
    std::int32_t label = 0, again = 0;
    fake.read(i, Sample<float, std::int32_t>{input, {&label, 1}});
    fake.read(i, Sample<double, std::int32_t>{precise, {&again, 1}});
    REQUIRE(label == static_cast<std::int32_t>(i % 10));
    for (std::size_t e = 0; e < 50; ++e) {
      if (e % 10 == i % 10) {
        shifted += precise[e] / 10'000;
      } else {
        REQUIRE(input[e] == static_cast<float>(precise[e]));
        noise += precise[e] / 90'000, square += precise[e] * precise[e] / 90'000;
      }
    }
  }
  REQUIRE(std::abs(noise) < 0.0117);       // 3.5 standard deviations of the mean, 1 / sqrt(90000)
  REQUIRE(std::abs(square - 1) < 0.0165);  // of the variance, sqrt(2 / 90000)
  REQUIRE(std::abs(shifted - 1) < 0.035);
}

TEST_CASE("fake regression targets are means of inputs") {
  float input[5], target[2];
  Fake().read(3, Sample<float, float>{input, target});
  REQUIRE(target[0] == Approx((input[0] + input[2] + input[4]) / 3));
  REQUIRE(target[1] == Approx((input[1] + input[3]) / 2));
}

TEST_CASE("fake bundles are fake values and the class in each target") {
  using Values = Bundled<Value<float, Shape<5>>, Value<std::int32_t, Shape<4>>>;
  using Targets = Bundled<Value<std::int32_t, Shape<1>>, Value<float, Shape<2>>>;
  const Fake fake({.samples = 100, .classes = 10, .seed = 1});
  static_assert(Source<Fake, Values, Targets> && Source<Fake, Values, std::int32_t> && Source<Fake, float, Targets>);
  Values values{};
  Targets targets{};
  fake.read(13, Sample<Values, Targets>{{&values, 1}, {&targets, 1}});
  float numbers[5];
  std::int32_t tokens[4], label = 0, next[4];
  fake.read(13, Sample<float, std::int32_t>{numbers, {&label, 1}});
  fake.read(13, Sample<std::int32_t, std::int32_t>{tokens, next});
  REQUIRE(std::equal(numbers, numbers + 5, values.get<0>().begin()));
  REQUIRE(std::equal(tokens, tokens + 4, values.get<1>().begin()));
  REQUIRE(targets.get<0>()[0] == 3);
  REQUIRE(targets.get<1>() == std::array<float, 2>{0.3f, 0.3f});
}

TEST_CASE("fake tokens step by a constant") {
  const Fake fake({.samples = 100, .classes = 65, .seed = 1});
  std::int32_t input[20], target[20], first = -1;
  bool varied = false;
  for (std::size_t i = 0; i < 100; ++i) {
    fake.read(i, Sample<std::int32_t, std::int32_t>{input, target});
    const std::int32_t step = (input[1] - input[0] + 65) % 65;
    REQUIRE(step >= 1);
    REQUIRE(step <= 7);
    for (std::size_t t = 0; t < 20; ++t) {
      REQUIRE(target[t] == (input[t] + step) % 65);
      if (t > 0) REQUIRE(input[t] == target[t - 1]);
    }
    varied |= i > 0 && input[0] != first;
    first = input[0];
  }
  REQUIRE(varied);
}

TEST_CASE("fake data refuse what they cannot be") {
  REQUIRE(says(error_of([] { Fake({.samples = 0}); }), "Fake: expected at least one sample"));
  REQUIRE(says(error_of([] { Fake({.classes = 0}); }), "Fake: expected 1 to 2147483647 classes, found 0"));
  REQUIRE(
      says(error_of([] { (void)Fake({.classes = 11}).size({.input = 2, .target = 1, .vocabulary_or_classes = 10}); }),
           "ids below 10"));
}
