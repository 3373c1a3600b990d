// compiled with -march=x86-64
// tests/engine/cpu/product_residue.cpp — a product reads nothing of an earlier one: threads keep packed operands, whose
// padding must be zero whatever lay there. Short registers pad more, so this is built for any processor of the family.
#include "arena.hpp"

#include <regimen/engine/cpu/product.hpp>

#include <array>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

template <class T, class C>
Values product(std::size_t m, std::size_t n, std::size_t k, bool transpose_a, bool transpose_b, bool nan) {
  Arena arena;
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  op::Product<T, T, C> o{};
  o.a = arena.put<T>(nan ? Values(m * k, not_a_number) : values<T>(m * k)),
  o.b = arena.put<T>(nan ? Values(k * n, not_a_number) : values<T>(k * n, 1, 2));
  o.c = arena.room<C>(m * n), o.m = m, o.n = n, o.k = k, o.transpose_a = transpose_a, o.transpose_b = transpose_b;
  cpu::compute(o, arena.memory());
  return arena.get(o.c, m * n);
}

/// Within the rounding of k products of numbers below 1, and one of the result.
template <class T, class C>
void reads_its_own() {
  for (const auto& shape :
       {std::array<std::size_t, 3>{1, 1, 1}, {17, 17, 5}, {1, 3, 9}, {3, 40, 33}, {33, 31, 47}, {50, 7, 100}}) {
    const std::size_t m = shape[0], n = shape[1], k = shape[2];
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        INFO(m << " x " << n << " x " << k << (transpose_a ? ", a transposed" : "")
               << (transpose_b ? ", b transposed" : ""));
        product<T, C>(64, 64, 128, transpose_a, transpose_b, true);
        const Values a = values<T>(m * k), b = values<T>(k * n, 1, 2);
        Values expected(m * n);
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j)
            for (std::size_t p = 0; p < k; ++p)
              expected[i * n + j] += a[transpose_a ? p * m + i : i * k + p] * b[transpose_b ? j * k + p : p * n + j];
        CHECK(misses(product<T, C>(m, n, k, transpose_a, transpose_b, false), expected, [&](std::size_t i) {
                return double(k * k) * epsilon_of<float> + rounding_of<C>(expected[i]);
              }) == 0);
      }
  }
}

}  // namespace

TEST_CASE("a product after one of NaN") {
  reads_its_own<float, float>();
  reads_its_own<double, double>();
  reads_its_own<bf16, float>();
  reads_its_own<bf16, bf16>();
  reads_its_own<fp16, float>();
}
