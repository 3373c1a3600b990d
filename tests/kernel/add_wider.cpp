// tests/kernel/add_wider.cpp — numbers of a narrow type added to those of a wider one: one rounding, in every
// order of threads.
#include "against_cpu.hpp"

#include <regimen/kernel/library.hpp>

using namespace regimen;
using namespace test;

TEMPLATE_TEST_CASE("16-bit numbers are added to fp32 ones, at any place", "", bf16, fp16) {
  using T = TestType;
  for (const std::size_t count : Sizes{0, 1, 7, 8, 9, 1030})
    for (const std::size_t past : Sizes{0, 4}) {
      const Values x = values<T>(count, 3, 1), y = values<float>(count, 3, 2);
      in_every_way(
          std::size_t{1} << 16,
          [&](Arena& arena) {
            arena.begin_past(past);
            const auto from = arena.put<T>(x);
            arena.begin_past(past);
            return kernel::AddWider<T, float>{from, arena.put<float>(y), count};
          },
          [&](const Arena& arena, const auto& done) {
            const Values sums = arena.get(done.y, count);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) wrong += sums[i] != double(float(x[i]) + float(y[i])) ? 1 : 0;
            CHECK(wrong == 0);
          });
    }
}
// SPDX-License-Identifier: Apache-2.0
