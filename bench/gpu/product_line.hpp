// bench/gpu/product_line.hpp — a product of a step as a line of text: step_products writes it here, products times it on
// the machine with the GPU.
#pragma once

#include <regimen/engine/cuda/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

namespace bench {

/// The descriptor, and how it is used.
///   step    whose product it is: "gpt2_124m", or "alone"
///   times   how often a step computes it
///   adds    D is added to (beta is 1)
struct ProductLine {
  std::string step;
  std::size_t times = 1;
  bool adds = false;
  regimen::cuda::ProductDescriptor descriptor{};

  bool operator==(const ProductLine&) const = default;
};

namespace detail {

/// Every number of a line, in the order in which it is written.
void each_number(ProductLine& line, const auto& f) {
  auto& d = line.descriptor;
  f(line.times), f(line.adds);
  for (regimen::cuda::Layout* layout : {&d.a, &d.b, &d.d})
    f(layout->type), f(layout->rows), f(layout->columns), f(layout->leading), f(layout->stride), f(layout->count),
        f(layout->alignment);
  f(d.transpose_a), f(d.transpose_b), f(d.wide), f(d.reads_tf32), f(d.epilogue), f(d.bias_alignment);
  f(d.aux_alignment), f(d.c_alignment), f(d.aux_leading), f(d.workspace);
}

}  // namespace detail

inline std::string text_of(ProductLine line) {
  std::ostringstream text;
  text << line.step;
  detail::each_number(line, [&](const auto& number) { text << ' ' << static_cast<std::int64_t>(number); });
  return text.str();
}
/// False if the text is none.
inline bool read(const std::string& text, ProductLine& line) {
  std::istringstream from(text);
  bool is_whole = bool(from >> line.step);
  detail::each_number(line, [&]<class Number>(Number& number) {
    std::int64_t found = 0;
    is_whole = bool(from >> found) && is_whole;
    number = static_cast<Number>(found);
  });
  return is_whole;
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
