// tests/kernel/embedding.cpp — a table looked up by token, and its gradient: the CPU engine's very bits.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/kernel/embedding.hpp>

#include <limits>
#include <tuple>
#include <utility>

using namespace regimen;
using namespace test;

namespace {

constexpr std::size_t room = std::size_t{1} << 21;

struct Case {
  std::size_t count, vocabulary, columns;
};
/// (40, 27, 64) and (300, 27, 64): everything at multiples of 16 bytes. Rows of the table up to 511, and one more for
/// tokens outside, are named by one digit.
constexpr Case cases[] = {{1, 1, 1},   {3, 5, 2},   {41, 300, 17}, {40, 27, 64}, {300, 27, 64}, {33, 1000, 130},
                          {5, 3, 700}, {700, 9, 3}, {0, 4, 4},     {600, 1, 5},  {600, 511, 2}, {600, 512, 2}};

/// Tokens of which low ones are frequent, as in text; some lie outside the vocabulary.
std::vector<std::int32_t> some_tokens(std::size_t count, std::size_t vocabulary) {
  std::vector<std::int32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = double(Philox::draw(9, i, 0).word[0]) / 4294967296.0;
    tokens[i] = static_cast<std::int32_t>(unit * unit * unit * double(vocabulary));
  }
  if (count > 20)
    tokens[7] = -1, tokens[13] = static_cast<std::int32_t>(vocabulary),
    tokens[14] = std::numeric_limits<std::int32_t>::min(), tokens[count / 2] = -7;
  return tokens;
}

template <class T, class G>
auto gradient(const Case& c, bool add, std::int32_t padding = -1) {
  return [=](Arena& arena) {
    op::EmbedBackward<T, G> o{};
    o.token = put_integers(arena, some_tokens(c.count, c.vocabulary)),
    o.d_y = arena.put<T>(values<T>(c.count * c.columns));
    o.d_table = arena.put<G>(values<G>(c.vocabulary * c.columns, 1, 2));
    o.count = c.count, o.vocabulary = c.vocabulary, o.columns = c.columns, o.add = add, o.padding = padding;
    return o;
  };
}

using Types = std::tuple<std::pair<float, float>, std::pair<double, double>, std::pair<bf16, float>,
                         std::pair<bf16, bf16>, std::pair<fp16, fp16>>;

}  // namespace

TEMPLATE_TEST_CASE("a lookup copies rows; a token outside the vocabulary gives NaN", "", float, double, bf16, fp16) {
  using T = TestType;
  for (const Case& c : cases) {
    CAPTURE(c.count, c.vocabulary, c.columns);
    const auto make = [&](Arena& arena) {
      op::Embed<T> o{};
      o.token = put_integers(arena, some_tokens(c.count, c.vocabulary)),
      o.table = arena.put<T>(values<T>(c.vocabulary * c.columns));
      o.y = arena.room<T>(c.count * c.columns), o.count = c.count, o.vocabulary = c.vocabulary, o.columns = c.columns;
      return o;
    };
    is_the_cpu(room, make, [&](const Arena& arena, const auto& o) { return arena.get(o.y, c.count * c.columns); });
  }
}

/// The CPU engine's, and its definition: the sum of each row in order, in S, rounded once.
template <class T, class G>
void is_its_definition(const Case& c, bool add, std::int32_t padding) {
  CAPTURE(c.count, c.vocabulary, c.columns, add, padding);
  using S = statistic_t<T>;
  const std::size_t bytes = room + 32 * c.vocabulary * c.columns + 32 * c.count * (c.columns + 1);
  const std::vector<std::int32_t> tokens = some_tokens(c.count, c.vocabulary);
  const Values d_y = values<T>(c.count * c.columns), before = values<G>(c.vocabulary * c.columns, 1, 2);
  std::vector<S> sums(before.size(), S(0));
  for (std::size_t i = 0; i < d_y.size(); ++i) {
    const std::size_t row = static_cast<std::uint32_t>(tokens[i / c.columns]);
    if (row < c.vocabulary && tokens[i / c.columns] != padding)
      sums[row * c.columns + i % c.columns] += static_cast<S>(d_y[i]);
  }
  Values expected(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    expected[i] = number(rounded<G>(add ? double(static_cast<S>(before[i]) + sums[i]) : double(sums[i])));
  by_definition(bytes, gradient<T, G>(c, add, padding), [&](const Arena& arena, const auto& o) {
    CHECK((arena.get(o.d_table, expected.size()) == expected));  // in parentheses: nobody reads tables in a message
  });
}

TEMPLATE_LIST_TEST_CASE("the gradient of a table is summed in the order of the tokens", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  for (const Case& c : cases)
    for (const auto& [add, padding] :
         {std::pair(false, -1), std::pair(true, -1), std::pair(false, 0), std::pair(true, 1)})
      is_its_definition<T, G>(c, add, padding);
  is_its_definition<T, G>({700, 8200, 64}, false, 3);  // so large that a thread takes 16 bytes
}

TEST_CASE("the order of tokens: digits of equal width, chunks of whole tiles") {
  for (const std::size_t vocabulary :
       Sizes{1, 65, 511, 512, 50257, (1 << 18) - 1, 1 << 18, 1 << 27, std::size_t{1} << 31})
    for (const std::size_t count :
         Sizes{0, 1, 256, 257, 16384, 128 * 256, 128 * 256 + 1, 524288, std::size_t{1} << 31}) {
      const kernel::TokenOrder order{count, vocabulary};
      CAPTURE(vocabulary, count, order.digits(), order.digit_bits(), order.chunks());
      CHECK(order.digits() * order.digit_bits() >= order.bits());
      CHECK((vocabulary >> order.bits()) == 0);
      CHECK((1u << order.digit_bits()) <= order.most_values);
      CHECK(order.digits() == (vocabulary < 512 ? 1 : vocabulary < (1 << 18) ? 2 : 3));
      CHECK(order.chunks() <= order.most_chunks);
      CHECK(order.chunk() % order.tile == 0);
      CHECK(order.chunks() * order.chunk() >= count);
      CHECK((count == 0 ? order.chunks() == 0 : (order.chunks() - 1) * order.chunk() < count));
    }
}

TEST_CASE("the order of tokens has three digits, or several tiles in a chunk") {
  is_its_definition<float, float>({900, 300000, 1}, false, -1);
  is_its_definition<float, float>({33000, 600, 1}, true, -1);
}

TEST_CASE("a missing thread, a missing barrier and a token too many are told") {
  constexpr unsigned last = kernel::TokenOrder::launches + 1;
  const Case c{300, 27, 64};
  const auto results = [&](const Arena& arena, const auto& o) {
    return arena.get(o.d_table, c.vocabulary * c.columns);
  };
  for (const std::string& text : told<WithoutAThread, last>(room, gradient<float, float>(c, false), results))
    CHECK(text == "another result");
  for (const std::string& text : told<WithoutAThread>(room, gradient<float, float>(c, false), results))
    CHECK_THAT(text, Catch::Contains("has left the kernel"));
  for (const std::string& text : told<WithoutBarriers>(room, gradient<float, float>(c, false), results))
    CHECK_THAT(text, Catch::Contains("shared memory that was"));
  Arena arena(room);
  op::Embed<float> o{};
  o.token = put_integers(arena, {0, 1, 2}), o.table = arena.put<float>(values<float>(3 * 5)),
  o.y = arena.room<float>(2 * 5);
  o.count = 3, o.vocabulary = 3, o.columns = 5;
  run(o, arena, ways[1]);
  CHECK_FALSE(arena.guards_hold());
}
// SPDX-License-Identifier: Apache-2.0
