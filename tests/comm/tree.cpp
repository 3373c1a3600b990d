// The tree over ranks: its definition, and what follows from it.
#include <regimen/comm/tree.hpp>

#include "comm/conformance.hpp"
#include "support/catch.hpp"

#include <vector>

using regimen::bf16;
using regimen::fp16;
using regimen::comm::tree_of_values;
using regimen::comm::tree_sum;

namespace {

template <class T>
std::vector<std::vector<T>> summands(std::size_t ranks, std::size_t count) {
  std::vector<std::vector<T>> all(ranks, std::vector<T>(count));
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < count; ++i) all[r][i] = conformance::value<T>(r, i, 9);
  }
  return all;
}

template <class T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& all) {
  std::vector<T> out(all[0].size());
  tree_sum([&](std::size_t r) { return all[r].data(); }, all.size(), out.data(), out.size());
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("the sum over ranks is the tree of its definition", "", float, double, bf16, fp16) {
  for (std::size_t ranks = 1; ranks <= 33; ++ranks) {
    for (const std::size_t count : {0u, 1u, 511u, 512u, 513u, 1030u}) {
      const auto all = summands<TestType>(ranks, count);
      const auto sums = sum_of(all);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i)
        wrong += conformance::same_bits(sums[i], conformance::expected_sum<TestType>(ranks, i, 9)) ? 0 : 1;
      INFO(ranks << " ranks, " << count << " elements");
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the sum may be written over any of its summands") {
  for (std::size_t at = 0; at < 5; ++at) {
    auto all = summands<float>(5, 1030);
    const auto sums = sum_of(all);
    tree_sum([&](std::size_t r) { return all[r].data(); }, 5, all[at].data(), 1030);
    CHECK(all[at] == sums);
  }
}

TEST_CASE("groups of a power of two are subtrees: inside groups and then over groups is the same sum") {
  for (const std::size_t group : {2u, 4u, 8u}) {
    for (std::size_t groups = 1; groups <= 7; ++groups) {
      const auto all = summands<float>(group * groups, 64);
      std::vector<std::vector<float>> partial;
      for (std::size_t g = 0; g < groups; ++g) {
        partial.push_back(sum_of(std::vector(all.begin() + static_cast<std::ptrdiff_t>(g * group),
                                             all.begin() + static_cast<std::ptrdiff_t>((g + 1) * group))));
      }
      INFO(groups << " groups of " << group);
      CHECK(sum_of(partial) == sum_of(all));
    }
  }
}

TEST_CASE("the order shows in the bits: a sum in rank order is another one") {
  const auto all = summands<float>(8, 512);
  const auto sums = sum_of(all);
  std::size_t differ = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    float in_order = 0;
    for (std::size_t r = 0; r < 8; ++r) in_order += all[r][i];
    differ += in_order == sums[i] ? 0 : 1;
  }
  CHECK(differ > 100);
}

TEST_CASE("the tree of a few values is the same tree") {
  for (std::size_t ranks = 1; ranks <= 33; ++ranks) {
    std::vector<float> values(3 * ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < 3; ++i) values[3 * r + i] = conformance::value<float>(r, i, 9);
    }
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(tree_of_values(values.data() + i, ranks, 3) == conformance::expected_sum<float>(ranks, i, 9));
  }
  constexpr float four[] = {1, 2, 3, 4};
  STATIC_REQUIRE(tree_of_values(four, 4) == 10);
}

TEST_CASE("staging is bounded, whatever the number of ranks") {
  using regimen::comm::chunked_staging_bytes;
  STATIC_REQUIRE(chunked_staging_bytes(1, 1000) == 0);
  STATIC_REQUIRE(chunked_staging_bytes(2, 100) == 128);
  STATIC_REQUIRE(chunked_staging_bytes(4, 1u << 30) == 3u << 20);
  STATIC_REQUIRE(chunked_staging_bytes(1024, std::size_t{1} << 40) <= std::size_t{16} << 20);
}
