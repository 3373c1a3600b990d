// Products in series: the sums of their definition, at sizes that are multiples of nothing; a row has the same bits however
// many others there are, and on however many threads.
#include <regimen/core/philox.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/engine/cpu/series_product.hpp>

#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;

namespace {

template <class S>
std::vector<S> numbers(std::size_t count, std::uint64_t key) {
  std::vector<S> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<S>(double(Philox::mix(key, i) >> 11) * 0x1p-52 - 1);
  return all;
}
template <class S>
std::vector<S> product(const std::vector<S>& a, const std::vector<S>& b, std::vector<S> c, std::size_t m, std::size_t n,
                       std::size_t k, bool transpose_b, bool add) {
  cpu::series_product(cpu::MatrixProduct<S>{
      .a = a.data(), .b = b.data(), .c = c.data(), .m = m, .n = n, .k = k, .transpose_b = transpose_b, .add = add});
  return c;
}

}  // namespace

TEMPLATE_TEST_CASE("a product in series is its definition, row by row", "", float, double) {
  using S = TestType;
  const std::array<std::size_t, 3> sizes[] = {{1, 1, 1},      {3, 5, 7},     {4, 32, 16}, {13, 37, 131},
                                              {29, 100, 300}, {16, 64, 256}, {2, 17, 129}};
  for (const auto& size : sizes)
    for (const bool transpose_b : {false, true})
      for (const bool add : {false, true}) {
        const std::size_t m = size[0], n = size[1], k = size[2];
        CAPTURE(m, n, k, transpose_b, add);
        const auto a = numbers<S>(m * k, 1), b = numbers<S>(n * k, 2), before = numbers<S>(m * n, 3);
        const auto c = product(a, b, before, m, n, k, transpose_b, add);
        double worst = 0;  // in units of the bound
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j) {
            long double sum = add ? static_cast<long double>(before[i * n + j]) : 0, sizes_of_terms = std::abs(sum);
            for (std::size_t p = 0; p < k; ++p) {
              const long double term = static_cast<long double>(a[i * k + p]) *
                                       static_cast<long double>(transpose_b ? b[j * k + p] : b[p * n + j]);
              sum += term, sizes_of_terms += std::abs(term);
            }
            // At most k + 1 roundings of partial sums, each below the sum of all sizes.
            const auto bound = static_cast<double>(sizes_of_terms) * double(k + 1) * epsilon_of<S> / 2;
            const double off = std::abs(static_cast<double>(static_cast<long double>(c[i * n + j]) - sum)) / bound;
            worst = off <= worst ? worst : off;
          }
        CHECK(worst <= 1);
        // Each row by itself, and all on another number of threads.
        std::size_t others = 0;
        for (std::size_t i = 0; i < m; ++i) {
          const auto row = [&](const std::vector<S>& all, std::size_t width) {
            return std::vector<S>(all.begin() + std::ptrdiff_t(i * width),
                                  all.begin() + std::ptrdiff_t((i + 1) * width));
          };
          others += product(row(a, k), b, row(before, n), 1, n, k, transpose_b, add) != row(c, n);
        }
        CHECK(others == 0);
      }
}

TEST_CASE("a product in series has the same bits on any number of threads") {
  const std::size_t m = 21, n = 260, k = 260;  // three chunks
  const auto a = numbers<float>(m * k, 1), b = numbers<float>(n * k, 2);
  const std::vector<float> none(m * n);
  for (const bool transpose_b : {false, true}) {
    set_threads(1);
    const auto one = product(a, b, none, m, n, k, transpose_b, false);
    set_threads(3);
    CHECK(product(a, b, none, m, n, k, transpose_b, false) == one);
  }
  set_threads(0);
}
// SPDX-License-Identifier: Apache-2.0
