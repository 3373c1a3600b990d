// regimen/engine/cpu/machine.ipp — which path products take on this processor, as text.
#pragma once

#include <regimen/engine/cpu/machine.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/vector.hpp>

#include <cstdio>
#include <string>

namespace regimen::cpu {

template <class Compute>
std::string path_text() {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  constexpr const char* fused = ", fused multiply-add";
#else
  constexpr const char* fused = "";
#endif
#if defined(__FAST_MATH__)
  constexpr const char* fast = ", -ffast-math";
#else
  constexpr const char* fast = "";
#endif
  char text[512];  // not a sum of strings: g++ 12 warns about the insides of those
  std::snprintf(text, sizeof text, "products: %s; registers: %zu bytes%s%s",
                product_path<Compute, Compute, Compute>().c_str(), vector_bytes, fused, fast);
  return text;
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
