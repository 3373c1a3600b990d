// The order of samples: a permutation of every size, a fair one, and fair draws.
#include <regimen/data/batching.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

using regimen::index_in_order;
using regimen::Order;

static_assert(index_in_order(Order::Sequential, 1, 2, 7, 5) == 2);
static_assert(index_in_order(Order::Shuffled, 1, 2, 0, 1) == 0);
static_assert(regimen::detail::multiply_high(~std::uint64_t{0}, ~std::uint64_t{0}) == ~std::uint64_t{0} - 1);
static_assert(regimen::detail::multiply_high(std::uint64_t{1} << 63, 6) == 3);

namespace {

bool is_permutation(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size) {
  std::vector<bool> seen(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t at = index_in_order(Order::Shuffled, seed, epoch, i, size);
    if (at >= size || seen[at]) return false;
    seen[at] = true;
  }
  return true;
}

}  // namespace

TEST_CASE("a shuffled epoch is a permutation of every size") {
  for (std::uint64_t size = 1; size <= 2000; ++size) {
    INFO(size);
    REQUIRE(is_permutation(size * 7, size % 5, size));
  }
  for (const std::uint64_t size : {60'000u, 65'535u, 65'536u, 65'537u, 1'003'854u, 1'048'577u}) {
    INFO(size);
    REQUIRE(is_permutation(1337, 3, size));
  }
}

TEST_CASE("runs hold neighbours, come in another order each epoch, and leave nothing out") {
  for (std::uint64_t size = 1; size <= 300; ++size)
    for (const std::uint64_t run : {1u, 3u, 8u, 299u, 300u}) {
      std::vector<bool> seen(size);
      std::uint64_t broken = 0;
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t at = index_in_order(Order::Runs, 7, 3, i, size, run);
        REQUIRE(at < size);
        REQUIRE(!seen[at]);
        seen[at] = true;
        broken += i % run != 0 && at != index_in_order(Order::Runs, 7, 3, i - 1, size, run) + 1;
      }
      REQUIRE(broken == 0);
    }
  std::uint64_t same_epoch = 0, same_seed = 0;
  std::set<std::uint64_t> short_runs;
  for (std::uint64_t i = 0; i < 100; ++i) {
    same_epoch += index_in_order(Order::Runs, 1, 0, 8 * i, 803, 8) == index_in_order(Order::Runs, 1, 1, 8 * i, 803, 8);
    same_seed += index_in_order(Order::Runs, 1, 0, 8 * i, 803, 8) == index_in_order(Order::Runs, 2, 0, 8 * i, 803, 8);
    short_runs.insert(index_in_order(Order::Runs, 1, i, 800, 803, 8));
  }
  CHECK(same_epoch < 10);  // of a random order one in a hundred
  CHECK(same_seed < 10);
  CHECK(short_runs.size() > 40);  // of a hundred draws of 101 places, 63 are expected to be distinct
}

TEST_CASE("sizes that no memory holds stay in range, and neighbours do not collide") {
  for (const std::uint64_t size : {std::uint64_t{1} << 40, (std::uint64_t{1} << 62) + 3, std::uint64_t{1} << 63}) {
    std::map<std::uint64_t, int> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const std::uint64_t at = index_in_order(Order::Shuffled, 5, 0, size - 1 - i, size);
      REQUIRE(at < size);
      REQUIRE(++seen[at] == 1);
    }
  }
}

TEST_CASE("epochs and seeds shuffle differently, and the same ones the same") {
  int same_epoch = 0, same_seed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t at = index_in_order(Order::Shuffled, 1, 0, i, 1000);
    REQUIRE(at == index_in_order(Order::Shuffled, 1, 0, i, 1000));
    same_epoch += at == index_in_order(Order::Shuffled, 1, 1, i, 1000);
    same_seed += at == index_in_order(Order::Shuffled, 2, 0, i, 1000);
  }
  REQUIRE(same_epoch < 10);  // 1 expected of a random permutation
  REQUIRE(same_seed < 10);
}

TEST_CASE("small shuffles reach every permutation about equally often") {
  for (const std::uint64_t size : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4}}) {
    std::map<std::vector<std::uint64_t>, double> counts;
    std::size_t permutations = 1;
    for (std::uint64_t i = 2; i <= size; ++i) permutations *= i;
    constexpr int epochs = 24'000;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      std::vector<std::uint64_t> order;
      for (std::uint64_t i = 0; i < size; ++i) order.push_back(index_in_order(Order::Shuffled, 9, epoch, i, size));
      ++counts[order];
    }
    REQUIRE(counts.size() == permutations);
    double chi_square = 0;
    const double expected = epochs / static_cast<double>(permutations);
    for (const auto& [order, count] : counts) chi_square += (count - expected) * (count - expected) / expected;
    REQUIRE(chi_square < 50);  // 23 degrees of freedom at most: 0.1 % lie above 49.7
  }
}

TEST_CASE("random draws are even, and repeat") {
  constexpr std::uint64_t size = 100, draws = 100'000;
  std::array<double, size> counts{};
  for (std::uint64_t i = 0; i < draws; ++i) counts[index_in_order(Order::Random, 3, 0, i, size)] += 1;
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - 1000) * (count - 1000) / 1000;
  REQUIRE(chi_square < 149);  // 99 degrees of freedom: 0.1 % lie above 148.2
  REQUIRE(index_in_order(Order::Random, 3, 0, 0, size) < size);
  REQUIRE(index_in_order(Order::Random, 3, 1, 77, size) == index_in_order(Order::Random, 3, 1, 77, size));
}
