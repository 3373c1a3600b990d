// regimen/rule/element_type_is_built.hpp — refuses element types that are declared, but not built.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::detail {

template <class T>
inline constexpr bool is_fp8 = std::is_same_v<T, fp8_e4m3> || std::is_same_v<T, fp8_e5m2>;
template <class T>
inline constexpr bool is_unbuilt_number = is_fp8<T> || std::is_same_v<T, tf32>;

}  // namespace regimen::detail

namespace regimen::rule {

/// The names are declared so that the error can say what to write instead.   docs/errors/element_type_is_built.md
template <class T>
struct element_type_is_built {
  static constexpr bool holds = true;
};
template <class T>
  requires std::is_same_v<T, tf32>
struct element_type_is_built<T> {
  static constexpr bool holds = !std::is_same_v<T, tf32>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: tf32 is no element type, and fp32 means fp32 here; write Precision<fp32>, or Precision<bf16, fp32>");
  };
};
template <class T>
  requires detail::is_fp8<T>
struct element_type_is_built<T> {
  static constexpr bool holds = !detail::is_fp8<T>;
  struct must_hold {
    static_assert(holds, "regimen: fp8 formats are not built; write Precision<bf16, fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
