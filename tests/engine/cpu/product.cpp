// tests/engine/cpu/product.cpp — every path of the product against a naive one in fp64.
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/traits.hpp>

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace regimen;

/// Values in (-1, 1), a function of `seed` and the place.
double value_at(std::size_t i, std::uint64_t seed) {
  return static_cast<double>(static_cast<std::int64_t>(Philox::mix(i, seed) >> 11)) * 0x1p-52 - 1.0;
}

template <class T>
std::vector<T> values(std::size_t count, std::uint64_t seed) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, double>) result[i] = value_at(i, seed);
    else if constexpr (std::is_same_v<T, tf32>)
      result[i].bits = std::bit_cast<std::uint32_t>(static_cast<float>(value_at(i, seed)));  // not rounded yet
    else result[i] = T(static_cast<float>(value_at(i, seed)));
  }
  return result;
}

template <class T>
double exactly(T x) {
  if constexpr (std::is_same_v<T, double>) return x;
  else if constexpr (std::is_same_v<T, tf32>) {  // what a product reads, by another formula than the library's
    const double number = std::bit_cast<float>(x.bits);
    int exponent = 0;
    const double fraction = std::frexp(number, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
  } else return static_cast<double>(static_cast<float>(x));
}

struct Case {
  std::size_t m, n, k;
  bool transpose_a, transpose_b, add;
};

template <class A, class B, class C>
std::vector<C> product(const Case& s, std::vector<A> a, std::vector<B> b, std::vector<C> c) {
  op::Product<A, B, C> o;
  o.m = s.m;
  o.n = s.n;
  o.k = s.k;
  const std::size_t tensors = a.size() * sizeof(A) + b.size() * sizeof(B) + c.size() * sizeof(C) + 3 * 64,
                    scratch = (tensors + 63) / 64 * 64;
  std::vector<std::byte> arena(scratch + cpu::Traits::scratch(o) + 1);
  o.a.offset = 0;
  o.b.offset = (a.size() * sizeof(A) + 63) / 64 * 64;
  o.c.offset = o.b.offset + (b.size() * sizeof(B) + 63) / 64 * 64;
  std::memcpy(arena.data() + o.a.offset, a.data(), a.size() * sizeof(A));
  std::memcpy(arena.data() + o.b.offset, b.data(), b.size() * sizeof(B));
  std::memcpy(arena.data() + o.c.offset, c.data(), c.size() * sizeof(C));
  o.transpose_a = s.transpose_a;
  o.transpose_b = s.transpose_b;
  o.add = s.add;
  cpu::compute(o, cpu::Memory{arena.data(), arena.size(), scratch});
  std::memcpy(c.data(), arena.data() + o.c.offset, c.size() * sizeof(C));
  return c;
}

/// The largest error over its bound, NaN if there is one. With u = eps_S / 2, every summation order of k products and
/// the added c gives at most γ_{k+1} Σ|a||b| + u|c| with γ_n = n u / (1 − n u) (Higham 2002, section 3.1; products of
/// 16-bit numbers are exact, which only helps); rounding to C adds eps_C / 2 of the result, or half a smallest
/// subnormal of fp16.
template <class A, class B, class C>
double worst(const Case& s) {
  const std::vector<A> a = values<A>(s.m * s.k, 1);
  const std::vector<B> b = values<B>(s.k * s.n, 2);
  const std::vector<C> before = values<C>(s.m * s.n, 3);
  const std::vector<C> after = product(s, a, b, before);
  const double u = epsilon_of<statistic_t<C>> / 2, count = static_cast<double>(s.k + 2),
               gamma = count * u / (1 - count * u);
  const double reference_u = count * 0x1p-53;  // the reference rounds too; it matters for fp64 only
  double result = 0;
  for (std::size_t i = 0; i < s.m; ++i)
    for (std::size_t j = 0; j < s.n; ++j) {
      double sum = 0, size = 0;
      for (std::size_t p = 0; p < s.k; ++p) {
        const double term = exactly(a[s.transpose_a ? p * s.m + i : i * s.k + p]) *
                            exactly(b[s.transpose_b ? j * s.k + p : p * s.n + j]);
        sum += term;
        size += std::fabs(term);
      }
      if (s.add) {
        sum += exactly(before[i * s.n + j]);
        size += std::fabs(exactly(before[i * s.n + j]));
      }
      double bound = (gamma + reference_u) * size;
      if (!std::is_same_v<C, statistic_t<C>>) bound += epsilon_of<C> / 2 * (std::fabs(sum) + bound) + 0x1p-25;
      const double error = std::fabs(exactly(after[i * s.n + j]) - sum);
      if (std::isnan(error)) return error;
      if (error > bound * result) result = bound > 0 ? error / bound : 1e9;
    }
  return result;
}

template <class A, class B, class C>
void check_shapes() {
  // Odd sizes around every block and tile boundary: 6, 12 rows; 4 to 32 columns; slices of 192; tiles of 96 x 256.
  static constexpr std::size_t shapes[][3] = {{1, 1, 1},     {1, 16, 16},   {5, 3, 7},      {12, 32, 192},
                                              {13, 33, 193}, {6, 31, 5},    {11, 17, 19},   {64, 64, 64},
                                              {64, 10, 65},  {97, 257, 31}, {100, 40, 385}, {3, 300, 129},
                                              {301, 2, 64},  {25, 47, 1},   {130, 129, 127}};
  for (const auto& shape : shapes)
    for (int flags = 0; flags < 8; ++flags) {
      const Case s{shape[0], shape[1], shape[2], (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
      CAPTURE(s.m, s.n, s.k, s.transpose_a, s.transpose_b, s.add);
      CHECK(worst<A, B, C>(s) <= 1.0);
    }
}

}  // namespace

TEST_CASE("a product of fp32 or fp64 agrees with the naive sum, for all layouts and odd sizes") {
  check_shapes<float, float, float>();
  check_shapes<double, double, double>();
}

TEST_CASE("a product of 16-bit operands accumulates in fp32 and rounds once") {
  check_shapes<bf16, bf16, bf16>();
  check_shapes<bf16, bf16, float>();
  check_shapes<fp16, fp16, fp16>();
  check_shapes<fp16, fp16, float>();
}

TEST_CASE("a product of tf32 rounds its factors, and nothing else: the bound is that of fp32") {
  check_shapes<tf32, tf32, float>();
  CHECK(cpu::product_path<tf32, tf32, tf32>() ==
        cpu::product_path<fp32, fp32, fp32>() + ", of factors rounded to tf32");
  static_assert(
      cpu::Traits::scratch(op::Product<tf32, tf32, fp32>{.a = {}, .b = {}, .c = {}, .m = 3, .n = 5, .k = 7}) ==
      aligned_bytes(3 * 7 * 4) + aligned_bytes(7 * 5 * 4));
}

TEST_CASE("any mix of element types multiplies") {
  const auto all = [](auto a, auto b) {
    using A = decltype(a);
    using B = decltype(b);
    for (const Case& s : {Case{33, 21, 200, false, false, false}, Case{33, 21, 200, true, true, true},
                          Case{7, 70, 30, false, true, true}}) {
      CHECK(worst<A, B, bf16>(s) <= 1.0);
      CHECK(worst<A, B, fp16>(s) <= 1.0);
      CHECK(worst<A, B, float>(s) <= 1.0);
    }
  };
  all(bf16{}, bf16{}), all(bf16{}, fp16{}), all(bf16{}, float{});
  all(fp16{}, bf16{}), all(fp16{}, fp16{}), all(fp16{}, float{});
  all(float{}, bf16{}), all(float{}, fp16{}), all(float{}, float{});
}

TEST_CASE("the packed product stands in for CBLAS") {
  for (int flags = 0; flags < 8; ++flags) {
    const Case s{60, 40, 333, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
    const std::vector<float> a = values<float>(s.m * s.k, 1), b = values<float>(s.k * s.n, 2),
                             c = values<float>(s.m * s.n, 3);
    std::vector<float> packed = c;
    cpu::packed_product(cpu::MatrixProduct<float>{.a = a.data(),
                                                  .b = b.data(),
                                                  .c = packed.data(),
                                                  .m = s.m,
                                                  .n = s.n,
                                                  .k = s.k,
                                                  .transpose_a = s.transpose_a,
                                                  .transpose_b = s.transpose_b,
                                                  .add = s.add});
    const std::vector<float> chosen = product(s, a, b, c);
    std::size_t wrong = 0;  // both within γ of terms that are at most 1
    for (std::size_t i = 0; i < c.size(); ++i)
      wrong += !(std::fabs(double(packed[i]) - double(chosen[i])) <= 2 * 334 * 0x1p-24 * 334);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a NaN or an infinity in an operand reaches its row and column only") {
  std::vector<bf16> a = values<bf16>(20 * 30, 1), b = values<bf16>(30 * 40, 2), c(20 * 40);
  a[7 * 30 + 3] = bf16(std::numeric_limits<float>::quiet_NaN());
  b[5 * 40 + 11] = bf16(std::numeric_limits<float>::infinity());
  c = product(Case{20, 40, 30, false, false, false}, a, b, c);
  bool as_expected = true;
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < 40; ++j)
      as_expected = as_expected && std::isfinite(float(c[i * 40 + j])) == (i != 7 && j != 11);
  CHECK(as_expected);
}

TEST_CASE("assignment ignores what c held, NaN included") {
  const std::vector<float> a = values<float>(64 * 64, 1), b = values<float>(64 * 64, 2);
  const std::vector<bf16> ah = values<bf16>(64 * 64, 1), bh = values<bf16>(64 * 64, 2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : product(Case{64, 64, 64, false, true, false}, a, b, std::vector<float>(64 * 64, nan)))
    REQUIRE(std::isfinite(x));
  for (const bf16 x : product(Case{64, 64, 64, false, true, false}, ah, bh, std::vector<bf16>(64 * 64, bf16(nan))))
    REQUIRE(std::isfinite(float(x)));
}

/// Products in 1, 2, 3 and 7 threads, bit for bit.
template <class A, class C>
void check_threads() {
  const int before = thread_count();
  for (const Case& s : {Case{200, 300, 250, false, true, false}, Case{64, 64, 784, true, false, true},
                        Case{500, 33, 100, false, false, false}, Case{768, 384, 128, false, true, true},
                        Case{400, 800, 900, true, false, false}}) {
    const std::vector<A> a = values<A>(s.m * s.k, 1), b = values<A>(s.k * s.n, 2);
    const std::vector<C> c = values<C>(s.m * s.n, 3);
    set_threads(1);
    const std::vector<C> one = product(s, a, b, c);
    for (const int count : {2, 3, 7}) {
      set_threads(count);
      const std::vector<C> several = product(s, a, b, c);
      CHECK(std::memcmp(one.data(), several.data(), one.size() * sizeof(C)) == 0);
    }
  }
  set_threads(before);
}

TEST_CASE("products do not depend on the number of threads") {
  check_threads<float, float>();
  check_threads<double, double>();
  check_threads<bf16, float>();
  check_threads<bf16, bf16>();
}

#if REGIMEN_HAS_CBLAS
TEST_CASE("tiles are a function of shape and machine, use it, and stay worth a call") {
  for (const std::size_t processors : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{64}})
    for (const Case& s : {Case{1, 1, 1, false, false, false}, Case{768, 128, 512, false, false, false},
                          Case{64, 64, 784, false, false, false}, Case{4096, 4096, 1024, false, false, false}}) {
      const auto tiles = cpu::detail::LibraryTiles::of(s.m, s.n, s.k, processors);
      CHECK(tiles.down * tiles.across >= (s.m == 4096 ? 2 * processors : 1));
      CHECK(tiles.down * tiles.across <= 4 * processors);
      if (tiles.down * tiles.across > 1) CHECK(s.m / tiles.down * (s.n / tiles.across) * s.k >= std::size_t{1} << 20);
    }
}
#endif

TEST_CASE("the path has a name, with the version of the library, and names no library that is not used") {
  CHECK(cpu::product_path<bf16, bf16, float>().substr(0, 6) == "packed");
  const std::string single = cpu::product_path<float, float, float>(),
                    both = cpu::product_path<double, double, double>();
  UNSCOPED_INFO(single << "; " << both);
#if REGIMEN_HAS_CBLAS
  if (const char* const expected =
          std::getenv("REGIMEN_EXPECT_BLAS")) {  // of a run under another library: tests/CMakeLists.txt
    CHECK(both.find(expected) != std::string::npos);
    CHECK(both.substr(0, 11) == "packed fp64");
  } else CHECK(both.find_first_of("0123456789") != std::string::npos);
#else
  CHECK(both == "packed fp64");
#endif
}
