// regimen/core/error.hpp — the one exception of the library.
#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace regimen {

namespace detail {
/// A text in one line, with control characters as escapes ("\\n", "\\0", "\\x1b"): of a name out of a file or from another
/// machine they would end the text, forge a line, or command the terminal. Those are bytes below 0x20, 0x7f, and C2 80 to
/// C2 9f, which UTF-8 makes of 0x80 to 0x9f.
[[gnu::cold]] inline std::string printable(std::string_view text) {
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
}  // namespace detail

/// A mistake that only the run can see: a file, an environment variable, a device, a value of an option.
///
/// The text answers four questions, in this order: where (file and offset, tensor, option, rank), what was
/// expected, what was found, and what to do. State that was saved before it is thrown stays intact. The text is one line, in
/// which control characters are escapes, whatever names of files and words of peers have in them; only `table` may be lines.
///
///   throw Error("weights.safetensors, header", "a length of at most 104857600 bytes", "18446744073709551615",
///               "the file is damaged or no safetensors file; restore it from a copy");
class Error : public std::runtime_error {
 public:
  [[gnu::cold]] Error(const std::string& where, const std::string& expected, const std::string& found,
                      const std::string& cure = {}, const std::string& table = {})
      : std::runtime_error(detail::printable(where + ": expected " + expected + ", found " + found +
                                             (cure.empty() ? "" : "; " + cure)) +
                           (table.empty() ? "" : "\n" + table)) {}
};

namespace detail {
/// "1 sample", "2 samples".
[[gnu::cold]] inline std::string counted(std::size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}
/// What an exception says.
[[gnu::cold]] inline std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return *error.what() == '\0' ? "an exception without words" : error.what();
  } catch (...) { return "an exception that is no std::exception"; }
}
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
