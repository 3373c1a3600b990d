// regimen/saves/convert.hpp — converts weights from one element type to another.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/number.hpp>
#include <regimen/saves/safetensors.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace regimen::saves {

/// x in another element type, rounded once, to nearest even. (From fp64 to 16 bits through fp32: the first step
/// rounds to odd, so the dropped bits leave a trace and the second step knows on which side of a tie x was.)
/// source   Boldo, Melquiond 2008, theorem 3
template <class To, class From>
To rounded(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (sizeof(To) == 2 && std::is_same_v<From, fp64>) {
    float narrow = static_cast<float>(x);
    if (static_cast<double>(narrow) != x && !is_nan(x)) {
      auto bits = std::bit_cast<std::uint32_t>(narrow);
      if (std::fabs(static_cast<double>(narrow)) > std::fabs(x)) --bits;  // towards zero
      narrow = std::bit_cast<float>(bits | 1u);
    }
    return static_cast<To>(narrow);
  } else if constexpr (sizeof(From) == 2) return static_cast<To>(static_cast<float>(x));
  else return static_cast<To>(x);
}

/// Calls f with a value of the element type of a tensor in a file.
/// failure   Error naming the tensor if its elements are no floating-point numbers
template <class F>
void with_dtype(const safetensors::File& file, const safetensors::Tensor& tensor, F&& f) {
  using safetensors::Dtype;
  if (tensor.dtype == Dtype::F64) return f(fp64{});
  if (tensor.dtype == Dtype::F32) return f(fp32{});
  if (tensor.dtype == Dtype::F16) return f(fp16{});
  if (tensor.dtype == Dtype::BF16) return f(bf16{});
  file.refuse_dtype(tensor);
}

}  // namespace regimen::saves
// SPDX-License-Identifier: Apache-2.0
