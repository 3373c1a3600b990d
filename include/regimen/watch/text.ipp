// regimen/watch/text.ipp — numbers and files of what watches a run.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/watch/text.hpp>

#include <charconv>
#include <span>
#include <string>
#include <string_view>
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
REGIMEN_INLINE void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
