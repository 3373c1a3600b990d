// tests/engine/cpu/elementwise.cpp — add, cast and dropout.
#include "arena.hpp"

#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/execute.hpp>

#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace test;

TEMPLATE_TEST_CASE("add is the sum in S, rounded once", "", float, double, bf16, fp16) {
  using T = TestType;
  for (const std::size_t count : Sizes{1, 15, 16, 17, 100, 40000}) {
    Arena arena;
    const Values x = values<T>(count, 3, 1), y = values<T>(count, 3, 2);
    op::Add<T> o{arena.put<T>(x), arena.put<T>(y), count};
    cpu::execute(o, arena.memory());
    Values expected(
        count);  // a sum of two 16-bit numbers of like size is exact in fp32, so one rounding is the very result
    for (std::size_t i = 0; i < count; ++i)
      expected[i] = number(rounded<T>(number(static_cast<statistic_t<T>>(x[i]) + static_cast<statistic_t<T>>(y[i]))));
    CHECK(misses(arena.get(o.y, count), expected, [](std::size_t) { return 0.0; }) == 0);
    CHECK(arena.get(o.x, count) == x);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_TEST_CASE("multiply is the product in S, rounded once; y may be a factor", "", float, double, bf16, fp16) {
  using T = TestType;
  for (const std::size_t count : Sizes{1, 15, 17, 40000})
    for (const unsigned is_y : {0u, 1u, 2u}) {
      CAPTURE(count, is_y);
      Arena arena;
      const Values a = values<T>(count, 3, 1), b = values<T>(count, 3, 2);
      op::Multiply<T> o{arena.put<T>(a), arena.put<T>(b), {}, count};
      o.y = is_y == 0 ? arena.room<T>(count) : is_y == 1 ? o.a : o.b;
      cpu::execute(o, arena.memory());
      Values expected(count);  // a product of two 16-bit numbers is exact in fp32
      for (std::size_t i = 0; i < count; ++i)
        expected[i] = number(rounded<T>(number(static_cast<statistic_t<T>>(a[i]) * static_cast<statistic_t<T>>(b[i]))));
      CHECK(misses(arena.get(o.y, count), expected, [](std::size_t) { return 0.0; }) == 0);
      if (is_y != 1) CHECK(arena.get(o.a, count) == a);
      if (is_y != 2) CHECK(arena.get(o.b, count) == b);
      CHECK(arena.guards_hold());
    }
}

TEMPLATE_TEST_CASE("columns are copied out of rows, and into rows, and nothing else is written", "", float, bf16) {
  using T = TestType;
  for (const std::size_t rows : Sizes{1, 3, 3000})
    for (const std::size_t columns : Sizes{1, 7, 16}) {
      CAPTURE(rows, columns);
      const std::size_t from_row = columns + 5, to_row = columns + 2;
      Arena arena;
      const Values x = values<T>(rows * from_row, 3, 1), y = values<T>(rows * to_row, 3, 2);
      op::CopyColumns<T> o{.x = arena.put<T>(x),
                           .y = arena.put<T>(y),
                           .rows = rows,
                           .columns = columns,
                           .from_row = from_row,
                           .to_row = to_row};
      const View<T> all = o.y;
      o.x = o.x + 5, o.y = o.y + 2;  // the last columns of both
      cpu::execute(o, arena.memory());
      Values expected = y;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
          expected[row * to_row + 2 + column] = x[row * from_row + 5 + column];
      CHECK(arena.get(all, rows * to_row) == expected);
      CHECK(arena.guards_hold());
    }
}

TEMPLATE_TEST_CASE("rows of groups are copied, and one row to many", "", float, fp16) {
  using T = TestType;
  constexpr std::size_t groups = 3, group = 4, columns = 5;
  Arena arena;
  const Values x = values<T>(groups * 50, 3, 1), y = values<T>(groups * 40, 3, 2);
  op::CopyColumns<T> o{.x = arena.put<T>(x),
                       .y = arena.put<T>(y),
                       .rows = groups * group,
                       .columns = columns,
                       .from_row = 7,
                       .to_row = 9,
                       .group = group,
                       .from_group = 50,
                       .to_group = 40};
  cpu::execute(o, arena.memory());
  Values expected = y;
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t row = 0; row < group; ++row)
      for (std::size_t c = 0; c < columns; ++c) expected[g * 40 + row * 9 + c] = x[g * 50 + row * 7 + c];
  CHECK(arena.get(o.y, y.size()) == expected);
  const op::CopyColumns<T> one{.x = o.x, .y = o.y, .rows = 10, .columns = 8, .from_row = 0, .to_row = 12};
  cpu::execute(one, arena.memory());
  for (std::size_t row = 0; row < 10; ++row)
    for (std::size_t c = 0; c < 8; ++c) expected[row * 12 + c] = x[c];
  CHECK(arena.get(o.y, y.size()) == expected);
  CHECK(arena.guards_hold());
}

TEMPLATE_TEST_CASE("whole samples are dropped, as often as the rate says, and the others grow", "", float, bf16) {
  using T = TestType;
  constexpr std::size_t samples = 20000, elements = 3;
  Arena arena;
  const Values x(samples * elements, 1.0);
  const op::DropSamples<T> o{.x = arena.put<T>(x),
                             .y = arena.room<T>(samples * elements),
                             .samples = samples,
                             .elements = elements,
                             .drop = arena.drop(16384, 5, {7, 11, 3})};  // a quarter
  cpu::execute(o, arena.memory());
  const Values y = arena.get(o.y, samples * elements);
  const double kept = number(rounded<T>(4.0 / 3));
  std::size_t dropped = 0, odd = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    odd += y[s * elements] != 0 && y[s * elements] != kept;
    for (std::size_t e = 1; e < elements; ++e) odd += y[s * elements + e] != y[s * elements];
    dropped += y[s * elements] == 0;
  }
  CHECK(odd == 0);
  // A binomial: five standard deviations, sqrt(samples · 1/4 · 3/4) = 61.
  CHECK(dropped > samples / 4 - 306);
  CHECK(dropped < samples / 4 + 306);
}

TEMPLATE_TEST_CASE("the mean of rows is their sum in S, divided and rounded once, and its gradient", "", float, double,
                   bf16, fp16) {
  using T = TestType;
  using S = statistic_t<T>;
  for (const std::size_t samples : Sizes{1, 3, 40})
    for (const std::size_t rows : Sizes{1, 7, 200})
      for (const std::size_t columns : Sizes{1, 16, 33}) {
        CAPTURE(samples, rows, columns);
        Arena arena(std::size_t{1} << 23);
        const Values x = values<T>(samples * rows * columns, 3, 1), d_y = values<T>(samples * columns, 3, 2);
        op::MeanRows<T> o{arena.put<T>(x), arena.room<T>(samples * columns), samples, rows, columns};
        op::MeanRowsBackward<T> back{arena.put<T>(d_y), arena.room<T>(x.size()), samples, rows, columns};
        cpu::execute(o, arena.memory());
        cpu::execute(back, arena.memory());
        Values mean(samples * columns), d_x(x.size());
        for (std::size_t s = 0; s < samples; ++s)
          for (std::size_t c = 0; c < columns; ++c) {
            S sum = 0;
            for (std::size_t row = 0; row < rows; ++row) sum += static_cast<S>(x[(s * rows + row) * columns + c]);
            mean[s * columns + c] = number(rounded<T>(number(sum / static_cast<S>(rows))));
            for (std::size_t row = 0; row < rows; ++row)
              d_x[(s * rows + row) * columns + c] =
                  number(rounded<T>(number(static_cast<S>(d_y[s * columns + c]) / static_cast<S>(rows))));
          }
        CHECK(arena.get(o.y, mean.size()) == mean);
        CHECK(arena.get(back.d_x, d_x.size()) == d_x);
        CHECK(arena.guards_hold());
      }
}

TEMPLATE_TEST_CASE("the largest of rows is found, NaN above all, and the gradient goes to the first alone", "", float,
                   double, bf16, fp16) {
  using T = TestType;
  for (const std::size_t samples : Sizes{1, 40})
    for (const std::size_t rows : Sizes{1, 7, 200})
      for (const std::size_t columns : Sizes{1, 16, 33}) {
        CAPTURE(samples, rows, columns);
        Arena arena(std::size_t{1} << 23);
        Values x = values<T>(samples * rows * columns, 3, 1);
        const Values d_y = values<T>(samples * columns, 3, 2);
        for (double& value : x) value = std::round(value);  // so that some are equal
        if (rows > 2) x[columns - 1] = 9, x[2 * columns - 1] = x[3 * columns - 1] = std::nan("");
        const op::MaxRows<T> o{arena.put<T>(x), arena.room<T>(samples * columns), samples, rows, columns};
        const op::MaxRowsBackward<T> back{o.x, arena.put<T>(d_y), arena.room<T>(x.size()), samples, rows, columns};
        cpu::execute(o, arena.memory());
        cpu::execute(back, arena.memory());
        const Values y = arena.get(o.y, samples * columns);
        Values d_x(x.size());
        std::size_t wrong = 0;
        for (std::size_t s = 0; s < samples; ++s)
          for (std::size_t c = 0; c < columns; ++c) {
            const auto at = [&](std::size_t row) { return (s * rows + row) * columns + c; };
            std::size_t place = 0;
            for (std::size_t row = 1; row < rows; ++row)
              if (!std::isnan(x[at(place)]) && !(x[at(row)] <= x[at(place)])) place = row;
            const double found = y[s * columns + c], expected = x[at(place)];
            wrong += !(std::isnan(expected) ? std::isnan(found) : found == expected);
            d_x[at(place)] = d_y[s * columns + c];
          }
        CHECK(wrong == 0);
        if (rows > 2) CHECK(std::isnan(y[columns - 1]));
        CHECK(arena.get(back.d_x, d_x.size()) == d_x);
        CHECK(arena.guards_hold());
      }
}

TEMPLATE_TEST_CASE("x + x is 2 x: add may be given one tensor twice", "", float, bf16) {
  Arena arena;
  const Values x = values<TestType>(77, 3);
  const auto view = arena.put<TestType>(x);
  cpu::execute(op::Add<TestType>{view, view, 77}, arena.memory());
  Values expected = x;
  for (double& value : expected) value *= 2;
  CHECK(arena.get(view, 77) == expected);
}

namespace {

template <class From, class To>
void cast_rounds_once() {
  for (const std::size_t count : Sizes{1, 7, 16, 33, 1000, 70001}) {
    Arena arena(std::size_t{1} << 21);
    const Values x = values<From>(count, 1000);
    op::Cast<From, To> o{arena.put<From>(x), arena.room<To>(count), count};
    cpu::execute(o, arena.memory());
    Values expected(count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = number(rounded<To>(x[i]));
    CHECK(arena.get(o.y, count) == expected);
    CHECK(arena.guards_hold());
  }
}

}  // namespace

TEST_CASE("a cast rounds once, to nearest even") {
  cast_rounds_once<float, bf16>(), cast_rounds_once<float, fp16>(), cast_rounds_once<bf16, float>(),
      cast_rounds_once<fp16, float>();
  cast_rounds_once<float, double>(), cast_rounds_once<double, float>(), cast_rounds_once<bf16, double>(),
      cast_rounds_once<fp16, double>();
  cast_rounds_once<bf16, fp16>(), cast_rounds_once<fp16, bf16>();
  cast_rounds_once<float, float>(), cast_rounds_once<double, double>(), cast_rounds_once<bf16, bf16>(),
      cast_rounds_once<fp16, fp16>();
}

TEMPLATE_TEST_CASE("a copy keeps all bits, those of a signalling NaN, too", "", float, double, bf16, fp16) {
  using T = TestType;
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const std::size_t count = 65536;  // of 16 bits all there are, of more the first NaNs
  const Bits first = sizeof(T) == 2 ? Bits{0} : sizeof(T) == 4 ? Bits(0x7F80'0001u) : Bits(0x7FF0'0000'0000'0001u);
  std::vector<Bits> bits(count);
  for (std::size_t i = 0; i < count; ++i) bits[i] = static_cast<Bits>(first + i);
  Arena arena(std::size_t{1} << 21);
  const op::Copy<T> o{arena.room<T>(count), arena.room<T>(count), count};
  static_assert(std::string_view(op::Copy<T>::name) == "copy");
  const cpu::Memory at = arena.memory();
  std::memcpy(static_cast<void*>(at(o.x)), bits.data(), count * sizeof(T));
  cpu::execute(o, at);
  CHECK(std::memcmp(at(o.y), bits.data(), count * sizeof(T)) == 0);
  CHECK(arena.guards_hold());
}

TEST_CASE("blocks of random bits are the words of Philox, low halves first") {
  for (const std::uint64_t first : {0ull, 128ull, 8ull, 34359738360ull * 8}) {
    std::uint16_t bits[cpu::random_block];
    cpu::draw_block(0x1234'5678'9ABC'DEF0u, first, 0x1'0000'0007u, bits);
    bool right = true;
    for (std::size_t e = 0; e < cpu::random_block; ++e) {
      const std::uint32_t word = Philox::draw(0x1234'5678'9ABC'DEF0u, (first + e) / 8, 0x1'0000'0007u).word[e % 8 / 2];
      right &= bits[e] == static_cast<std::uint16_t>(e % 2 == 0 ? word : word >> 16);
    }
    CHECK(right);
  }
}

TEMPLATE_TEST_CASE("dropout keeps or drops each element by its 16 bits, and scales what it keeps", "", float, double,
                   bf16, fp16) {
  using T = TestType;
  for (const std::size_t elements : Sizes{1, 9, 128, 130, 1001, 40000}) {
    for (const bool in_place : {false, true}) {
      const std::size_t samples = 3;
      Arena arena(std::size_t{1} << 22);
      Values x = values<T>(samples * elements, 2);
      op::Dropout<T> o{};
      o.x = arena.put<T>(x), o.y = in_place ? o.x : arena.room<T>(x.size());
      o.samples = samples, o.elements = elements, o.drop = arena.drop(6554, 44, {11, 22, 33});
      cpu::execute(o, arena.memory());
      Values expected(x.size());
      using S = statistic_t<T>;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t e = i % elements;
        const std::uint32_t word =
            Philox::draw(Philox::mix(Philox::mix(11, 22), 44), e / 8, 33 + i / elements).word[e % 8 / 2];
        const std::uint32_t bits = e % 2 == 0 ? word & 0xFFFF : word >> 16;
        expected[i] = bits < 6554
                          ? 0
                          : number(rounded<T>(number(static_cast<S>(x[i]) * static_cast<S>(65536.0 / (65536 - 6554)))));
      }
      CHECK(arena.get(o.y, x.size()) == expected);
      CHECK(arena.guards_hold());
    }
  }
}

TEST_CASE("the rate of dropout is the rate, and a dropped NaN is gone") {
  const std::size_t elements = 100000;
  Arena arena(std::size_t{1} << 21);
  op::Dropout<float> o{};
  o.x = arena.put<float>(Values(elements, 1.0)), o.y = arena.room<float>(elements), o.samples = 1,
  o.elements = elements, o.drop = arena.drop(16384, 1);
  cpu::execute(o, arena.memory());
  double kept = 0;
  for (const double y : arena.get(o.y, elements)) kept += y;
  CHECK(std::fabs(kept / double(elements) - 1) <
        5 * std::sqrt(0.25 * 0.75 / double(elements)) / 0.75);  // five standard deviations
  Arena other(std::size_t{1} << 21);
  o.x = other.room<float>(elements), o.y = o.x, o.drop = other.drop(16384, 1);
  cpu::execute(o, other.memory());
  std::size_t zeros = 0;
  for (const double y : other.get(o.y, elements)) zeros += y == 0;
  CHECK(std::fabs(double(zeros) + kept * 0.75 - double(elements)) < 0.1);  // kept is a sum of rounded 4/3
}

TEST_CASE("dropout with threshold 0 is the identity, and draws depend on sample, step and layer") {
  const auto run = [](op::Random random, op::Drop drop) {
    Arena arena;
    op::Dropout<float> o{};
    o.x = arena.put<float>(values<float>(500)), o.y = arena.room<float>(500), o.samples = 1, o.elements = 500,
    o.drop = arena.drop(drop.threshold, drop.stream, random);
    cpu::execute(o, arena.memory());
    return arena.get(o.y, 500);
  };
  CHECK(run({1, 2, 3}, {0, 4}) == values<float>(500));
  const Values base = run({1, 2, 3}, {30000, 4});
  CHECK(base == run({1, 2, 3}, {30000, 4}));
  CHECK(base != run({2, 2, 3}, {30000, 4}));
  CHECK(base != run({1, 3, 3}, {30000, 4}));
  CHECK(base != run({1, 2, 4}, {30000, 4}));
  CHECK(base != run({1, 2, 3}, {30000, 5}));
}

TEST_CASE("the number of threads changes no bit of add, cast and dropout") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const std::size_t count = 150001;
    const auto x = arena.put<float>(values<float>(count)), y = arena.put<float>(values<float>(count, 1, 2));
    cpu::execute(op::Add<float>{x, y, count}, arena.memory());
    cpu::execute(op::Cast<float, fp16>{y, arena.room<fp16>(count), count}, arena.memory());
    op::Dropout<float> o{y, y, 1, count, arena.drop(1000, 2)};
    cpu::execute(o, arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0
