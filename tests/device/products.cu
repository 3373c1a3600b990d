// tests/device/products.cu — products of whole numbers are exact on the device: in all transpositions, with gaps between
// rows, unaligned, with epilogues, several at once. The algorithms that cuBLASLt chooses join partial sums in fp32, not
// in 16 bits.
// compiled for 90a-real
//
// Exit code 77: there is no device.
#include <regimen/engine/cuda/device.hpp>
#include <regimen/engine/cuda/product.hpp>

#include "../support/exact_products.hpp"
#include "attempt.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

using namespace regimen;

namespace {

/// Small results of long sums, which the library cuts.
template <class T>
int wrong_schemes(cuda::Library& library, const char* type) {
  int wrong = 0, cut = 0;
  for (const std::size_t side : {16u, 64u, 256u, 768u})
    for (const std::size_t inner : {4096u, 16384u, 131072u}) {
      const op::Product<T, T, T> product{
          .a = {0}, .b = {0}, .c = {0}, .m = side, .n = side, .k = inner, .transpose_a = true};
      const cuda::Library::Product made = library.make_product(cuda::describe(product, cuda::Library::workspace));
      std::uint32_t scheme = 0;
      std::size_t written = 0;
      cuda::detail::demand(cublasLtMatmulAlgoConfigGetAttribute(&made->algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                                &scheme, sizeof scheme, &written),
                           "cublasLtMatmulAlgoConfigGetAttribute");
      cut += scheme != CUBLASLT_REDUCTION_SCHEME_NONE;
      if (scheme == CUBLASLT_REDUCTION_SCHEME_NONE || scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) continue;
      ++wrong;
      std::printf("%s, %zu x %zu x %zu: scheme %u\n", type, side, side, inner, scheme);
    }
  std::printf("%s: %d products are cut, %d of them joined in another type\n", type, cut, wrong);
  return wrong;
}

/// Cuts products of a few numbers, as large ones are cut.
struct CutsSmall : cuda::Library {
  static constexpr double cut_flops = 1000;
};

template <class Library>
int wrong_products(const char* what) {
  using Engine = cuda::Engine<Library>;
  support::ExactProducts<Engine> exact;
  support::exact_products_of_all_types(exact);
  support::exact_products_of_library<Engine, cuda::ManyProducts>(exact);
  for (const std::string& mistake : exact.mistakes) std::puts(mistake.c_str());
  std::printf("{\"operation\":\"%s\",\"type\":\"all\",\"cases\":%zu,\"wrong\":%zu,\"difference\":0,\"largest\":1}\n",
              what, exact.tried, exact.mistakes.size());
  return static_cast<int>(exact.mistakes.size());
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: no algorithm was chosen, no product computed");
    return 77;
  }
  cuda::Library library;
  bool holds = test::attempt("bf16", [&] { return wrong_schemes<bf16>(library, "bf16") == 0; });
  holds = test::attempt("fp16", [&] { return wrong_schemes<fp16>(library, "fp16") == 0; }) && holds;
  holds = test::attempt("whole", [] { return wrong_products<cuda::Library>("products of cuBLASLt") == 0; }) && holds;
  holds = test::attempt("in parts", [] { return wrong_products<CutsSmall>("the same in parts") == 0; }) && holds;
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
