// bench/gpu/products.cpp — products of the library: operations per second. One JSON object a line, which products.py
// completes with what PyTorch makes of the same shapes.
#include "timing.hpp"

#include <regimen/core/operation.hpp>

namespace bench {
namespace {

struct Shape {
  std::size_t m, n, k;
};

template <class T, class C>
void product(Timing& timing, Shape s, bool transpose_a, bool transpose_b) {
  timing.clear();
  op::Product<T, T, C> o{};
  o.a = timing.put<T>(s.m * s.k, -1, 1), o.b = timing.put<T>(s.k * s.n, -1, 1), o.c = timing.put<C>(s.m * s.n, 0, 1);
  o.m = s.m, o.n = s.n, o.k = s.k, o.transpose_a = transpose_a, o.transpose_b = transpose_b;
  const double seconds = timing.seconds(o);
  std::printf(
      "{\"product\":\"%zux%zux%zu\",\"m\":%zu,\"n\":%zu,\"k\":%zu,\"transpose_a\":%s,\"transpose_b\":%s,"
      "\"type\":\"%s\",\"result\":\"%s\",\"microseconds\":%.2f,\"tflop_per_s\":%.2f}\n",
      s.m, s.n, s.k, s.m, s.n, s.k, transpose_a ? "true" : "false", transpose_b ? "true" : "false", name_of<T>,
      name_of<C>, seconds * 1e6, o.cost().flops / seconds * 1e-12);
  std::fflush(stdout);
}

/// The three products of a linear layer: output, gradient of the input, gradient of the weights.
template <class T>
void layer(Timing& timing, Shape s) {
  using C = stored_t<T>;
  product<T, C>(timing, s, false, true);
  product<T, C>(timing, {s.m, s.k, s.n}, false, false);
  product<T, C>(timing, {s.n, s.k, s.m}, true, false);
}

void all(bool small) {
  Timing timing(small ? std::size_t{70} << 20 : std::size_t{6} << 30);
  if (small) {
    layer<bf16>(timing, {24, 16, 40});
    layer<tf32>(timing, {24, 16, 40});
    return;
  }
  layer<bf16>(timing, {8192, 8192, 8192});
  layer<bf16>(timing, {16384, 3072, 768});  // GPT-2 124M, 16 texts of 1,024 tokens
  layer<bf16>(timing, {16384, 768, 3072});
  layer<bf16>(timing, {16384, 2304, 768});
  layer<bf16>(timing, {16384, 50257, 768});
  layer<bf16>(timing, {4096, 4096, 4096});
  layer<fp16>(timing, {8192, 8192, 8192});
  layer<tf32>(timing, {8192, 8192, 8192});
  layer<float>(timing, {4096, 4096, 4096});
  layer<double>(timing, {4096, 4096, 4096});
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
