// regimen/watch/text.ipp — the bodies of text.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/watch/text.hpp>

#include <charconv>
#include <filesystem>
#include <system_error>

namespace regimen::detail {

REGIMEN_INLINE std::string text_of(double number) {
  if (is_nan(number)) return "nan";
  if (!is_finite(number)) return number > 0 ? "inf" : "-inf";
  char text[32];
  const auto [end, failure] = std::to_chars(text, text + sizeof text, number);
  return failure == std::errc{} ? std::string(text, end) : std::string("nan");
}
REGIMEN_INLINE std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char letter : text) field.append(letter == '"' ? 2 : 1, letter);
  return field + "\"";
}
REGIMEN_INLINE void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw Error(path, "a folder, or a name where one can be made", failed.message());
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
