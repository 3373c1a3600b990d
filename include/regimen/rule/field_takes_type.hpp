// regimen/rule/field_takes_type.hpp — what a field of an object in JSON lines can be.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace regimen::rule {

/// A row owns its values: the object that a line is parsed to is gone when the row is read. A character is no number of
/// JSON.
/// docs/errors/data.md#field_takes_type
template <class T>
struct field_takes_type {
  static constexpr bool is_character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                                       std::same_as<T, char16_t> || std::same_as<T, char32_t>;
  static constexpr bool holds =
      (std::is_arithmetic_v<T> && !is_character) || std::same_as<T, std::string> || std::same_as<T, nlohmann::json>;
  struct must_hold {
    static_assert(holds,
                  "regimen: JsonLines reads std::string, bool, numbers, json, std::vector and std::optional of these; "
                  "name one of them");
  };
};
template <class T>
struct field_takes_type<std::vector<T>> : field_takes_type<T> {};
template <class T>
struct field_takes_type<std::optional<T>> : field_takes_type<T> {};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
