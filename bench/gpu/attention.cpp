// bench/gpu/attention.cpp — attention alone, forward and backward, in each form, at GPT-2's extents: operations per
// second. A form counts the products that causal attention needs, so what it computes in vain makes it slower.
#include "timing.hpp"

#include <regimen/core/operation.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace bench {
namespace {

template <class Form>
using EngineOf = typename engines::Of<Where>::template with<
    regimen::detail::policies_by_axis<Attention<Form>, Convolution<>, Communicator<Solo>>>::type;

template <class T, class Form>
void attention(const char* form, op::AttentionShape shape) {
  TimingOn<EngineOf<Form>> timing(std::size_t{40} * shape.batch * shape.length * shape.heads * shape.width * sizeof(T) +
                                  (std::size_t{600} << 20));
  const std::size_t all = shape.batch * shape.length * shape.heads * shape.width;
  const std::size_t rows = shape.batch * shape.heads * shape.length;
  const auto fill = [&](auto& o) {
    o.qkv = timing.template put<T>(3 * all, -1, 1), o.y = timing.template put<T>(all, -1, 1);
    o.softmax = {timing.template put<statistic_t<T>>(2 * rows, 6, 7).offset}, o.shape = shape;
  };
  const auto report = [&](const char* pass, const auto& operation, double products) {
    const double seconds = timing.seconds(operation);
    const double flops = products * double(rows) * double(shape.length + 1) * double(shape.width);
    std::printf(
        "{\"attention\":\"%s\",\"pass\":\"%s\",\"type\":\"%s\",\"batch\":%zu,\"length\":%zu,\"heads\":%zu,\"width\":%zu,"
        "\"microseconds\":%.2f,\"tflop_per_s\":%.2f}\n",
        form, pass, name_of<T>, std::size_t{shape.batch}, std::size_t{shape.length}, std::size_t{shape.heads},
        std::size_t{shape.width}, seconds * 1e6, flops / seconds * 1e-12);
    std::fflush(stdout);
  };
  // Half of the pairs are seen: each product has 2 · 1/2 operations for a pair and a channel.
  op::Attention<T> forward{};
  fill(forward);
  report("forward", forward, 2);
  op::AttentionBackward<T> backward{};
  timing.clear();
  fill(backward);
  backward.d_y = timing.template put<T>(all, -1, 1), backward.d_qkv = timing.template put<T>(3 * all, -1, 1);
  backward.row_dot = timing.template put<statistic_t<T>>(rows, -1, 1);
  report("backward", backward, 5);
}

template <class T>
void in_each_form(op::AttentionShape shape) {
#if defined(REGIMEN_HAS_CUDNN)
  if constexpr (sizeof(T) == 2) attempt("cuDNN", [&] { attention<T, Cudnn>("Cudnn", shape); });
#endif
  attempt("composed", [&] { attention<T, Composed>("Composed", shape); });
  attempt("tiled", [&] { attention<T, Tiled>("Tiled", shape); });
}

void all(bool small) {
  if (small) return in_each_form<bf16>({1, 16, 2, 8, true});
  in_each_form<bf16>({16, 1024, 12, 64, true});
  in_each_form<float>({16, 1024, 12, 64, true});
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
