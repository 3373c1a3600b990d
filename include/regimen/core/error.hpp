// regimen/core/error.hpp — the one exception of the library.
#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace regimen {

namespace detail {
/// A text in one line, with control characters as escapes ("\\n", "\\0", "\\x1b"): of a name out of a file or from
/// another machine they would end the text, forge a line, or command the terminal. Those are bytes below 0x20, 0x7f,
/// and C2 80 to C2 9f, which UTF-8 makes of 0x80 to 0x9f.
[[gnu::cold]] std::string printable(std::string_view text);
}  // namespace detail

/// A mistake that only the run can see: a file, an environment variable, a device, a value of an option.
///
/// The text answers four questions, in this order: where (file and offset, tensor, option, rank), what was
/// expected, what was found, and what to do. State that was saved before it is thrown stays intact. The text is one
/// line, in which control characters are escapes, whatever names of files and words of peers have in them; only `table`
/// may be lines.
///
///   throw Error("weights.safetensors, header", "a length of at most 104857600 bytes", "18446744073709551615",
///               "the file is damaged or no safetensors file; restore it from a copy");
class Error : public std::runtime_error {
 public:
  /// Views: a literal makes no string where an Error is thrown.
  [[gnu::cold]] Error(std::string_view where, std::string_view expected, std::string_view found,
                      std::string_view cure = {}, std::string_view table = {});
};

namespace detail {
/// "1 sample", "2 samples".
[[gnu::cold]] std::string counted(std::size_t number, const char* noun);
/// What an exception says.
[[gnu::cold]] std::string words_of(const std::exception_ptr& failure);
}  // namespace detail

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/core/error.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
