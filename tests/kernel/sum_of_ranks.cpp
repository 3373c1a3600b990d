// tests/kernel/sum_of_ranks.cpp — the sum over ranks on one device: the very bits of comm/tree.hpp, in every order of
// threads, also over one of the summands.
#include <regimen/comm/tree.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/kernel/sum_of_ranks.hpp>

#include "run.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

using namespace regimen;
using namespace test;

namespace {

template <class T>
void sums() {
  for (const std::size_t ranks : {1u, 2u, 3u, 4u, 7u, 32u})
    for (const std::size_t count : {1u, 63u, 256u, 1001u}) {
      std::vector<std::vector<T>> given(ranks, std::vector<T>(count + 1));
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t i = 0; i <= count; ++i) {  // each order of sums has other bits
          const double number = double(Philox::draw(r, i, 0).word[0] % 4096) * 0.0137;
          if constexpr (sizeof(T) == 8) given[r][i] = number;
          else given[r][i] = T(static_cast<float>(number));
        }
      std::vector<T> expected(count);
      comm::tree_sum([&](std::size_t r) { return given[r].data(); }, ranks, expected.data(), count);
      for (const Way& way : ways) {
        INFO(way.name << ", " << ranks << " ranks, " << count << " elements");
        std::vector<std::vector<T>> here = given;
        std::vector<T>& own = here[ranks / 2];
        kernel::SumOfRanks<T> sum{.out = own.data(), .ranks = ranks, .count = count};
        for (std::size_t r = 0; r < ranks; ++r) sum.of[r] = here[r].data();
        run_kernel(sum, way);
        CHECK(std::memcmp(own.data(), expected.data(), count * sizeof(T)) == 0);
        CHECK(std::memcmp(&own[count], &given[ranks / 2][count], sizeof(T)) == 0);  // what lies behind stays
      }
    }
}

}  // namespace

TEST_CASE("ranks on one device are added in the order of every communicator") {
  sums<double>();
  sums<float>();
  sums<bf16>();
  sums<fp16>();
}
// SPDX-License-Identifier: Apache-2.0
