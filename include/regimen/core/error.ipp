// regimen/core/error.ipp — the bodies of error.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>

namespace regimen::detail {

REGIMEN_INLINE std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    const bool is_wide =
        byte == 0xC2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xE0) == 0x80;
    if (byte >= 0x20 && byte != 0x7F && !is_wide) {
      shown += text[i];
      continue;
    }
    if (is_wide) byte = static_cast<unsigned char>(text[++i]);
    constexpr std::string_view digits = "0123456789abcdef";
    if (byte == 0) shown += "\\0";
    else if (byte == '\n') shown += "\\n";
    else if (byte == '\r') shown += "\\r";
    else if (byte == '\t') shown += "\\t";
    else (shown += "\\x") += {digits[byte >> 4], digits[byte & 15]};
  }
  return shown;
}

REGIMEN_INLINE std::string counted(std::size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

REGIMEN_INLINE std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return *error.what() == '\0' ? "an exception without words" : error.what();
  } catch (...) { return "an exception that is no std::exception"; }
}

}  // namespace regimen::detail

namespace regimen {

REGIMEN_INLINE Error::Error(std::string_view where, std::string_view expected, std::string_view found,
                            std::string_view cure, std::string_view table)
    : std::runtime_error(detail::printable(std::string(where)
                                               .append(": expected ")
                                               .append(expected)
                                               .append(", found ")
                                               .append(found)
                                               .append(cure.empty() ? "" : "; ")
                                               .append(cure))
                             .append(table.empty() ? "" : "\n")
                             .append(table)) {}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
