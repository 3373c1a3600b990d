// tests/engine/cpu/reduce.cpp — the sum of squares: its value, its tree, and that nothing else decides about it.
#include "arena.hpp"

#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/update.hpp>

#include <limits>
#include <numeric>

using namespace regimen;
using namespace test;

namespace {

double tree_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return values[begin];
  std::size_t half = 1;
  while (half * 2 < end - begin) half *= 2;
  return tree_of(values, begin, begin + half) + tree_of(values, begin + half, end);
}

template <class G>
double square_sum(const Values& gradient, std::size_t bytes = std::size_t{1} << 22) {
  Arena arena(bytes);
  op::SumOfSquares<G> o{arena.put<G>(gradient), square_sum_of(arena.scalars()), gradient.size()};
  cpu::execute(o, arena.memory());
  CHECK(arena.guards_hold());
  return *arena.memory()(o.sum);
}

}  // namespace

TEST_CASE("a tree sum is the balanced tree: split at the largest power of two below n") {
  for (std::size_t n = 1; n < 200; ++n) {
    std::vector<double> values(n);
    cpu::detail::TreeSum tree;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = std::exp(double(Philox::draw(5, i, 0).word[0]) / 4294967296.0 * 40);
      tree.add(values[i]);
    }
    CHECK(tree.total() == tree_of(values, 0, n));
    if (n == 199) CHECK(tree.total() != std::accumulate(values.begin(), values.end(), 0.0));  // the order decides
  }
  CHECK(cpu::detail::TreeSum{}.total() == 0);
}

TEMPLATE_TEST_CASE("the sum of squares is the sum of squares", "", float, double, bf16, fp16) {
  for (const std::size_t count : Sizes{1, 2, 15, 16, 17, 100, 4095, 4096, 4097, 100003}) {
    const Values gradient = values<TestType>(count, 3);
    long double expected = 0;
    for (const double g : gradient) expected += static_cast<long double>(g) * g;
    // A square passes through 4096/16 + 4 additions in its chunk and at most 20 in the tree, each off by 2^-53.
    CHECK(std::fabs(square_sum<TestType>(gradient) - double(expected)) <= 281 * 0x1p-53 * double(expected));
  }
}

TEST_CASE("chunks of 4096 join as a tree, however many cores share them") {
  constexpr std::size_t count = 4096 * 700 + 1234;  // more than 64 groups of 8 chunks
  Values gradient(count);
  std::vector<double> chunks((count + 4095) / 4096);
  for (std::size_t i = 0; i < count; ++i) {
    const double exponent = double(Philox::draw(6, i / 4096, 0).word[0] % 40) - 20;
    gradient[i] = double(float(std::ldexp(double(i % 97) + 1, int(exponent))));
  }
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const std::size_t end = std::min(count, (c + 1) * 4096);
    chunks[c] =
        square_sum<float>(Values(gradient.begin() + std::ptrdiff_t(c * 4096), gradient.begin() + std::ptrdiff_t(end)));
  }
  CHECK(square_sum<float>(gradient, std::size_t{1} << 24) == tree_of(chunks, 0, chunks.size()));
  CHECK(tree_of(chunks, 0, chunks.size()) != std::accumulate(chunks.begin(), chunks.end(), 0.0));  // the order decides
}

TEST_CASE("it adds to what other units left, sees NaN and infinity, and squares without overflow") {
  Arena arena;
  Scalars before;
  before.square_sum = 5;
  op::SumOfSquares<float> o{arena.put<float>({3, 4}), square_sum_of(arena.scalars(before)), 2};
  cpu::execute(o, arena.memory());
  CHECK(*arena.memory()(o.sum) == 30);
  CHECK(square_sum<float>({3e38, 3e38}) == Approx(2 * 9e76).epsilon(1e-6));
  CHECK(square_sum<fp16>({60000, 60000}) == 7.2e9);
  for (std::size_t at = 0; at < 40; at += 3) {
    Values gradient(40, 1.0);
    gradient[at] = std::nan("");
    CHECK(std::isnan(square_sum<bf16>(gradient)));
    gradient[at] = -std::numeric_limits<double>::infinity();
    CHECK(square_sum<float>(gradient) == std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("the number of threads changes no bit of the sum of squares") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const std::size_t count = 1000003;
    cpu::execute(op::SumOfSquares<float>{arena.put<float>(values<float>(count)), square_sum_of(arena.scalars()), count},
                 arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0
