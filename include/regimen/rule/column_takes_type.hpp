// regimen/rule/column_takes_type.hpp — what a field of a table of text can be.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

namespace regimen::rule {

/// A row owns its values: text between quotation marks is not in the file as it is read.
/// docs/errors/data.md#column_takes_type
template <class T>
struct column_takes_type {
  static constexpr bool holds = std::is_arithmetic_v<T> || std::same_as<T, std::string>;
  struct must_hold {
    static_assert(holds, "regimen: Csv reads std::string, bool, numbers, or std::optional of these; name one of them");
  };
};
template <class T>
struct column_takes_type<std::optional<T>> : column_takes_type<T> {};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
