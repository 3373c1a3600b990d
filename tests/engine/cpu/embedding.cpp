// tests/engine/cpu/embedding.cpp — tables looked up by token and added by position, and their gradients.
#include "arena.hpp"

#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/execute.hpp>

#include <tuple>

using namespace regimen;
using namespace test;

namespace {

View<std::int32_t> put_tokens(Arena& arena, const std::vector<std::int32_t>& tokens) {
  const auto view = arena.room<std::int32_t>(tokens.size());
  std::copy(tokens.begin(), tokens.end(), arena.memory()(view));
  return view;
}

/// Tokens of which low ones are frequent, as in text.
std::vector<std::int32_t> some_tokens(std::size_t count, std::size_t vocabulary) {
  std::vector<std::int32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = double(Philox::draw(9, i, 0).word[0]) / 4294967296.0;
    tokens[i] = static_cast<std::int32_t>(unit * unit * unit * double(vocabulary));
  }
  return tokens;
}

using Types = std::tuple<std::pair<float, float>, std::pair<double, double>, std::pair<bf16, float>,
                         std::pair<bf16, bf16>, std::pair<fp16, fp16>>;

}  // namespace

TEMPLATE_TEST_CASE("a lookup copies rows; a token outside the vocabulary gives NaN", "", float, double, bf16, fp16) {
  using T = TestType;
  for (const std::size_t columns : Sizes{1, 5, 64, 40000}) {
    Arena arena(std::size_t{1} << 23);
    const Values table = values<T>(7 * columns, 1);
    const std::vector<std::int32_t> tokens{
        6, 0, 3, 7, 3, -1, -100, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    op::Embed<T> o{put_tokens(arena, tokens),
                   arena.put<T>(table),
                   arena.room<T>(tokens.size() * columns),
                   tokens.size(),
                   7,
                   columns};
    cpu::execute(o, arena.memory());
    const Values y = arena.get(o.y, tokens.size() * columns);
    bool right = true;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::int32_t token = tokens[i / columns];
      if (token < 0 || token > 6) right &= std::isnan(y[i]);
      else right &= y[i] == table[static_cast<std::size_t>(token) * columns + i % columns];
    }
    CHECK(right);
    CHECK(arena.guards_hold());
  }
}

TEMPLATE_LIST_TEST_CASE("the gradient of a table is summed exactly where S can, and rounded once", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  struct Case {
    std::size_t count, vocabulary, columns;
  };
  for (const Case c : {Case{1, 1, 1}, Case{3, 5, 2}, Case{40, 300, 17}, Case{700, 27, 64}, Case{33, 1000, 130},
                       Case{5, 3, 700}, Case{0, 4, 4}}) {
    for (const bool add : {false, true}) {
      Arena arena(std::size_t{1} << 22);
      auto tokens = some_tokens(c.count, c.vocabulary);
      if (c.count > 20) tokens[7] = -1, tokens[13] = static_cast<std::int32_t>(c.vocabulary);  // these add nothing
      Values d_y = values<T>(c.count * c.columns, 8);
      for (double& value : d_y) value = std::round(value);  // sums of small integers have no rounding error in S
      Values old = values<G>(c.vocabulary * c.columns, 8, 2);
      for (double& value : old) value = std::round(value);
      op::EmbedBackward<T, G> o{};
      o.token = put_tokens(arena, tokens), o.d_y = arena.put<T>(d_y);
      o.d_table = add ? arena.put<G>(old) : arena.room<G>(old.size());
      o.count = c.count, o.vocabulary = c.vocabulary, o.columns = c.columns, o.add = add;
      cpu::execute(o, arena.memory());
      Values expected = add ? old : Values(old.size(), 0.0);
      for (std::size_t i = 0; i < d_y.size(); ++i) {
        const std::int32_t token = tokens[i / c.columns];
        if (token >= 0 && std::size_t(token) < c.vocabulary)
          expected[std::size_t(token) * c.columns + i % c.columns] += d_y[i];
      }
      for (double& value : expected) value = number(rounded<G>(value));
      CHECK(arena.get(o.d_table, old.size()) == expected);
      CHECK(arena.guards_hold());
    }
  }
}

TEST_CASE("a frequent token does not stall in a 16-bit gradient") {
  // 1000 ones added one by one in bf16 would stop at 256.
  Arena arena;
  op::EmbedBackward<bf16, bf16> o{};
  o.token = put_tokens(arena, std::vector<std::int32_t>(1000, 1)), o.d_y = arena.put<bf16>(Values(1000, 1.0)),
  o.d_table = arena.room<bf16>(2);
  o.count = 1000, o.vocabulary = 2, o.columns = 1;
  cpu::execute(o, arena.memory());
  CHECK(arena.get(o.d_table, 2) == Values{0, 1000});
}

TEMPLATE_LIST_TEST_CASE("a table is added to every sample, and its gradient is the sum over samples", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  for (const std::size_t elements : Sizes{1, 30, 1000, 40001}) {
    for (const bool flag : {false, true}) {  // y = x, and add
      const std::size_t samples = 3;
      Arena arena(std::size_t{1} << 22);
      Values x = values<T>(samples * elements, 64), table = values<T>(elements, 64, 2),
             old = values<G>(elements, 64, 3);
      for (double& value : x) value = std::round(value);
      for (double& value : table) value = std::round(value);
      for (double& value : old) value = std::round(value);
      op::AddTable<T> o{};
      o.x = arena.put<T>(x), o.table = arena.put<T>(table), o.y = flag ? o.x : arena.room<T>(x.size()),
      o.samples = samples, o.elements = elements;
      cpu::execute(o, arena.memory());
      Values y(x.size()), d_table = flag ? old : Values(elements, 0.0);
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + table[i % elements];
      CHECK(arena.get(o.y, x.size()) == y);
      op::AddTableBackward<T, G> back{};
      back.d_y = o.y, back.d_table = flag ? arena.put<G>(old) : arena.room<G>(elements), back.samples = samples,
      back.elements = elements, back.add = flag;
      cpu::execute(back, arena.memory());
      for (std::size_t i = 0; i < y.size(); ++i) d_table[i % elements] += y[i];
      for (double& value : d_table) value = number(rounded<G>(value));
      CHECK(arena.get(back.d_table, elements) == d_table);
      CHECK(arena.guards_hold());
    }
  }
}

TEST_CASE("the number of threads changes no bit of an embedding or its gradient") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const std::size_t count = 600, vocabulary = 900, columns = 200;
    op::EmbedBackward<float, float> o{};
    o.token = put_tokens(arena, some_tokens(count, vocabulary)),
    o.d_y = arena.put<float>(values<float>(count * columns));
    o.d_table = arena.room<float>(vocabulary * columns), o.count = count, o.vocabulary = vocabulary,
    o.columns = columns;
    cpu::execute(o, arena.memory());
    op::Embed<float> look{o.token, o.d_table, arena.room<float>(count * columns), count, vocabulary, columns};
    cpu::execute(look, arena.memory());
    op::AddTableBackward<float, float> back{};
    back.d_y = look.y, back.d_table = arena.room<float>(20 * columns), back.samples = 30, back.elements = 20 * columns;
    cpu::execute(back, arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0
