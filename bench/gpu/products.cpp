// bench/gpu/products.cpp — products of the library: operations per second. Reads the lines of step_products on standard
// input; writes a JSON object for each, which products.py completes with what PyTorch makes of the same shapes.
#include "timing.hpp"

#include <regimen/engine/cuda/runtime.hpp>

#include "product_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

#if defined(__CUDACC__)
using Runtime = cuda::Library;
#else
using Runtime = emulated::Runtime;
#endif

std::size_t bytes_of_matrices(const cuda::Layout& layout) {
  const std::size_t one = layout.columns * static_cast<std::size_t>(layout.leading);
  return (one + static_cast<std::size_t>(layout.stride) * static_cast<std::size_t>(layout.count - 1)) *
             bytes_of(layout.type) +
         layout.alignment;
}
std::size_t rounded(std::size_t bytes) { return (bytes + 511) / 256 * 256; }

/// The tensors of one product, one behind the other, each at no better multiple than its descriptor says.
struct Tensors : cuda::ProductTensors {
  std::size_t bytes = 0;

  Tensors(const cuda::ProductDescriptor& p, std::byte* base) {
    const auto take = [&](std::size_t size, std::uint32_t alignment) {
      std::byte* const at = base == nullptr ? nullptr : base + bytes + (alignment < 256 ? alignment : 0);
      bytes += rounded(size + alignment);
      return at;
    };
    a = take(bytes_of_matrices(p.a), p.a.alignment);
    b = take(bytes_of_matrices(p.b), p.b.alignment);
    d = take(bytes_of_matrices(p.d), p.d.alignment);
    if (p.c_alignment > 0) c = take(bytes_of_matrices(p.d), p.c_alignment);
    if (cuda::reads_bias(p.epilogue)) bias = take(p.d.rows * bytes_of(p.d.type), p.bias_alignment);
    if (cuda::has_aux(p.epilogue))
      aux = take(static_cast<std::size_t>(p.aux_leading) * p.d.columns * bytes_of(p.d.type), p.aux_alignment);
  }
};

class Products {
 public:
  explicit Products(std::size_t bytes)
      : stream_(runtime_.make_stream()),
        done_(runtime_.make_event()),
        memory_(runtime_.allocate(bytes, "tensors")),
        scratch_(runtime_.allocate(Runtime::workspace, "the workspace")),
        block_(runtime_.allocate_pinned(block_bytes, "random numbers")) {}

  double seconds(const ProductLine& line) {
    ProductLine& known = seconds_.emplace_back(line, 0).first;
    known.descriptor.workspace = Runtime::workspace;  // of this library, or of its emulation
    const auto& descriptor = known.descriptor;
    const Tensors at(descriptor, memory_);
    fill(descriptor.a.type, at.bytes);
    const typename Runtime::Product product = runtime_.make_product(descriptor);
    const auto queue = [&] { runtime_.multiply(product, at, line.adds ? 1 : 0, scratch_, stream_); };
    queue();  // the library loads its kernels
    runtime_.begin_capture(stream_);
    for (int repeat = 0; repeat < in_graph; ++repeat) queue();
    const typename Runtime::Graph graph = runtime_.end_capture(stream_);
    const double found = median_seconds(in_graph, [&](std::size_t times) {
      for (std::size_t i = 0; i < times; ++i) runtime_.launch(graph, stream_);
      wait();
    });
    runtime_.destroy(graph);
    return seconds_.back().second = found;
  }

  /// Of another step, or 0.
  double known_seconds(ProductLine line) const {
    line.descriptor.workspace = Runtime::workspace;
    for (const auto& [known, found] : seconds_)
      if (known.descriptor == line.descriptor && known.adds == line.adds) return found;
    return 0;
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 22;

  void wait() {
    runtime_.record(done_, stream_);
    runtime_.synchronize(done_);
  }
  /// With numbers in [-1, 1) of the factors' type. What D and the epilogue read of them in another type are numbers, too.
  void fill(ElementType type, std::size_t bytes) {
    const auto write = [&]<class T>(T) {
      const std::vector<T> numbers = random_numbers<T>(block_bytes / sizeof(T), -1, 1);
      std::memcpy(block_, numbers.data(), numbers.size() * sizeof(T));
      const std::size_t block = numbers.size() * sizeof(T);
      for (std::size_t at = 0; at < bytes; at += block)
        runtime_.upload(memory_ + at, block_, std::min(block, bytes - at), stream_);
    };
    if (type == ElementType::float64) write(double{});
    else if (type == ElementType::float32) write(float{});
    else if (type == ElementType::float16) write(fp16{});
    else write(bf16{});
    wait();
  }

  Runtime runtime_;
  typename Runtime::Stream stream_;
  typename Runtime::Event done_;
  std::byte *memory_, *scratch_;
  std::byte* block_;
  std::vector<std::pair<ProductLine, double>> seconds_;
};

/// Its row-major terms: c (m,n) = op(a) (m,k) · op(b) (k,n). The library's A is b.
void print(const ProductLine& line, double seconds) {
  static constexpr const char* epilogues[] = {"", "bias", "gelu, bias", "gelu, aux, bias", "dgelu"};
  const auto& p = line.descriptor;
  const std::size_t m = p.d.columns, n = p.d.rows, k = p.transpose_a ? p.a.rows : p.a.columns;
  const auto count = static_cast<std::size_t>(p.d.count);
  const double flops = 2.0 * double(count) * double(m) * double(n) * double(k);
  const auto name = [&](ElementType type) {
    return type == ElementType::float64                   ? "fp64"
           : type == ElementType::float16                 ? "fp16"
           : type == ElementType::bfloat16                ? "bf16"
           : p.reads_tf32 && type == ElementType::float32 ? "tf32"
                                                          : "fp32";
  };
  std::printf(
      "{\"product\":\"%zux%zux%zu\",\"step\":\"%s\",\"times\":%zu,\"count\":%zu,\"m\":%zu,\"n\":%zu,\"k\":%zu,"
      "\"transpose_a\":%s,\"transpose_b\":%s,\"leading_a\":%lld,\"leading_b\":%lld,\"leading_c\":%lld,\"type\":\"%s\","
      "\"result\":\"%s\",\"epilogue\":\"%s\",\"adds\":%s,\"microseconds\":%.2f,\"tflop_per_s\":%.2f}\n",
      m, n, k, line.step.c_str(), line.times, count, m, n, k, p.transpose_b ? "true" : "false",
      p.transpose_a ? "true" : "false", static_cast<long long>(p.b.leading), static_cast<long long>(p.a.leading),
      static_cast<long long>(p.d.leading), name(p.a.type), name(p.d.type), epilogues[static_cast<int>(p.epilogue)],
      line.adds ? "true" : "false", seconds * 1e6, flops / seconds * 1e-12);
  std::fflush(stdout);
}

void all(bool) {
  std::vector<ProductLine> lines;
  std::size_t most = 1;
  for (std::string text; std::getline(std::cin, text);) {
    ProductLine line;
    if (!read(text, line)) throw Error("standard input", "lines of step_products", "'" + text + "'");
    most = std::max(most, Tensors(line.descriptor, nullptr).bytes);
    lines.push_back(std::move(line));
  }
  Products products(most);
  if (lines.empty()) throw Error("standard input", "lines of step_products", "none");
  for (const ProductLine& line : lines)
    attempt(text_of(line), [&] {
      const double known = products.known_seconds(line);
      print(line, known > 0 ? known : products.seconds(line));
    });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
