// regimen/rule/element_type_is_built.hpp — refuses element types that are declared, but not built.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::detail {

template <class T>
inline constexpr bool is_unbuilt_number = std::is_same_v<T, fp8_e4m3> || std::is_same_v<T, fp8_e5m2>;

}  // namespace regimen::detail

namespace regimen::rule {

/// The names are declared so that the error can say what to write instead.
/// docs/errors/precision.md#element_type_is_built
template <class T>
struct element_type_is_built {
  static constexpr bool holds = true;
};
template <class T>
  requires detail::is_unbuilt_number<T>
struct element_type_is_built<T> {
  static constexpr bool holds = !detail::is_unbuilt_number<T>;
  struct must_hold {
    static_assert(holds, "regimen: fp8 formats are not built; write Precision<bf16, fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
