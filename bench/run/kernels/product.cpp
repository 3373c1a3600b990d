// bench/run/kernels/product.cpp — GFLOP/s of every path of the CPU's matrix product.
//
//   packed        regimen::cpu::packed_product, fp32
//   cblas         the BLAS library, fp32, tile by tile     with REGIMEN_HAS_CBLAS
//   onednn        oneDNN's sgemm, likewise                 with REGIMEN_HAS_ONEDNN
//   packed bf16   packed_product on bf16 storage, bf16 result
//   amx bf16      the same in AMX tiles                    where the processor has them
//   chosen        what op::Product in fp32 takes
//
// Each is checked against a naive product before it is timed. A cell is the best of interleaved rounds, and its time
// over that of packed. Run with OMP_NUM_THREADS set; argument: seconds per line, default 0.3.
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/product.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace regimen;

struct Shape {
  std::size_t m, n, k;
};

// Training steps: an MLP 784-64-64-10 at batch 64; a GPT of 128 channels at 768 tokens; products of 256 to 4096.
constexpr Shape shapes[] = {{64, 64, 784},     {64, 784, 64},   {64, 64, 64},     {64, 10, 64},
                            {10, 64, 64},      {768, 128, 128}, {768, 384, 128},  {768, 512, 128},
                            {128, 128, 768},   {256, 512, 512}, {2048, 256, 256}, {2048, 1024, 256},
                            {1024, 256, 2048}, {64, 4096, 784}, {512, 3072, 768}, {1024, 1024, 1024}};

template <class T>
struct Operands {
  std::vector<T> a, b, c;

  explicit Operands(const Shape& s) : a(s.m * s.k), b(s.k * s.n), c(s.m * s.n) {
    const auto fill = [](std::vector<T>& to, std::uint64_t seed) {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = T(static_cast<float>(Philox::mix(i, seed) >> 40) * 0x1p-23f - 1.0f);
    };
    fill(a, 1);
    fill(b, 2);
  }
};

/// The largest error over a sample of elements, relative to √k.
template <class T>
double error_of(const Operands<T>& o, const Shape& s, bool transpose_a, bool transpose_b) {
  double worst = 0;
  for (std::size_t e = 0; e < s.m * s.n; e += 1 + s.m * s.n / 200) {
    const std::size_t i = e / s.n, j = e % s.n;
    double sum = 0;
    for (std::size_t p = 0; p < s.k; ++p)
      sum += static_cast<double>(o.a[transpose_a ? p * s.m + i : i * s.k + p]) *
             static_cast<double>(o.b[transpose_b ? j * s.k + p : p * s.n + j]);
    worst = std::max(worst, std::fabs(sum - static_cast<double>(o.c[e])) / std::sqrt(static_cast<double>(s.k)));
  }
  return worst;
}

struct Path {
  const char* name;
  double allowed_error;
  double best = 1e9;
};

template <class Call>
double seconds(const Call& call, int repeats) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / repeats;
}

/// calls(i) runs path i and returns false where it does not exist.
template <class Calls>
void time(std::vector<Path>& paths, const Calls& calls, double budget, double flops) {
  std::vector<int> repeats;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    calls(i);
    repeats.push_back(std::max(1, static_cast<int>(2e-4 / seconds([&] { calls(i); }, 1))));
  }
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (std::size_t i = 0; i < paths.size(); ++i)
      paths[i].best = std::min(paths[i].best, seconds([&] { calls(i); }, repeats[i]));
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < budget);
  for (const Path& path : paths)
    std::printf("  %s %6.1f (%4.2f)", path.name, flops / path.best * 1e-9, path.best / paths.front().best);
}

bool measure(const Shape& s, int layout, double budget) {
  const bool transpose_a = layout == 2, transpose_b = layout == 1;
  Operands<float> single(s);
  Operands<bf16> half(s);
  op::Product<float, float, float> product;
  const auto bytes = [](const auto& tensor) { return tensor.size() * sizeof(tensor[0]); };
  std::vector<std::byte> arena(bytes(single.a) + bytes(single.b) + bytes(single.c));
  product.a.offset = 0;
  product.b.offset = bytes(single.a);
  product.c.offset = bytes(single.a) + bytes(single.b);
  product.m = s.m;
  product.n = s.n;
  product.k = s.k;
  product.transpose_a = transpose_a;
  product.transpose_b = transpose_b;
  std::memcpy(arena.data(), single.a.data(), bytes(single.a));
  std::memcpy(arena.data() + product.b.offset, single.b.data(), bytes(single.b));
  const cpu::Memory memory{arena.data(), arena.size()};

  std::vector<Path> paths;
  std::vector<int> kinds;
  const auto call = [&](std::size_t i) {
    const auto of = [&]<class T>(Operands<T>& operands) {
      return cpu::MatrixProduct<T>{.a = operands.a.data(),
                                   .b = operands.b.data(),
                                   .c = operands.c.data(),
                                   .m = s.m,
                                   .n = s.n,
                                   .k = s.k,
                                   .transpose_a = transpose_a,
                                   .transpose_b = transpose_b};
    };
    switch (kinds[i]) {
      case 0:
        cpu::packed_product(of(single));
        break;
#if REGIMEN_HAS_CBLAS
      case 1:
        cpu::detail::product_by_tiles(of(single), cpu::detail::blas_product<float>);
        break;
#endif
#if REGIMEN_HAS_ONEDNN
      case 2:
        cpu::detail::product_by_tiles(of(single), cpu::onednn::product);
        break;
#endif
      case 3:
        cpu::packed_product(of(half));
        break;
      case 4:
        cpu::amx::product(of(half));
        break;
      default:
        cpu::compute(product, memory);
    }
  };
  bool right = true;
  const auto add = [&](const char* name, int kind) {
    paths.push_back({name, kind == 3 || kind == 4 ? 0x1p-7 : 1e-5});
    kinds.push_back(kind);
    call(kinds.size() - 1);
    if (kind == 5) std::memcpy(single.c.data(), arena.data() + product.c.offset, bytes(single.c));
    const double error = kind == 3 || kind == 4 ? error_of(half, s, transpose_a, transpose_b)
                                                : error_of(single, s, transpose_a, transpose_b);
    if (error <= paths.back().allowed_error) return;
    std::printf("\n%s is wrong by %g\n", name, error);
    right = false;
  };
  add("packed", 0);
#if REGIMEN_HAS_CBLAS
  add("cblas", 1);
#endif
#if REGIMEN_HAS_ONEDNN
  add("onednn", 2);
#endif
  add("packed bf16", 3);
  if (cpu::amx::is_available()) add("amx bf16", 4);
  add("chosen", 5);
  std::printf("%5zu %5zu %5zu %s:", s.m, s.n, s.k, layout == 0 ? "NN" : layout == 1 ? "NT" : "TN");
  time(paths, call, budget, 2.0 * static_cast<double>(s.m * s.n * s.k));
  std::printf("\n");
  return right;
}

}  // namespace

int main(int count, char** arguments) {
  const double budget = count > 1 ? std::atof(arguments[1]) : 0.3;
  std::printf("fp32: %s; bf16: %s\n   m     n     k          GFLOP/s (time over the first)\n",
              cpu::product_path<float, float, float>().c_str(), cpu::product_path<bf16, bf16, bf16>().c_str());
  bool right = true;
  for (const Shape& shape : shapes)
    for (int layout = 0; layout < 3; ++layout) right = measure(shape, layout, budget) && right;
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
