// Samples in memory.
#include <regimen/data/rows.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

using namespace regimen;
using test::error_of;
using test::says;

static_assert(Source<Rows<float, std::int32_t>, float, std::int32_t>);
static_assert(!Source<Rows<double, double>, float, float>, "doubles never become floats unseen");

TEST_CASE("rows come back as they were given") {
  const Rows<double, double> rows({1, 2, 3, 4, 5, 6}, {10, 20, 30}, 2);
  REQUIRE(rows.size({.input = 2, .target = 1}) == 3);
  double input[2], target[1];
  rows.read(1, Sample<double, double>{input, target});
  REQUIRE(input[0] == 3);
  REQUIRE(input[1] == 4);
  REQUIRE(target[0] == 20);
}

TEST_CASE("rows of other extents are refused") {
  using Doubles = Rows<double, double>;
  REQUIRE(says(error_of([] { Doubles({1, 2, 3}, {1}, 2); }), "rows of 2 inputs, found 3 inputs"));
  REQUIRE(says(error_of([] { Doubles({1, 2, 3}, {1}, 0); }), "rows of 0 inputs"));
  REQUIRE(says(error_of([] { Doubles({}, {}, 1); }), "found 0 inputs"));
  REQUIRE(says(error_of([] { Doubles({1, 2, 3}, {1, 2}, 1); }), "each of 3 samples, found 2 targets"));
  const Doubles rows({1, 2, 3}, {1, 2, 3}, 1);
  REQUIRE(says(error_of([&] { (void)rows.size({.input = 2, .target = 1}); }), "takes 1 input and 1 target a sample"));
  double one[1];
  REQUIRE(says(error_of([&] { rows.read(3, Sample<double, double>{one, one}); }), "a sample below 3, found sample 3"));
}
