// regimen/core/error.hpp — the one exception of the library.
#pragma once

#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace regimen {

/// A mistake that only the run can see: a file, an environment variable, a device, a value of an option.
///
/// The text answers four questions, in this order: where (file and offset, tensor, option, rank), what was
/// expected, what was found, and what to do. State that was saved before it is thrown stays intact.
///
///   throw Error("weights.safetensors, header", "a length of at most 104857600 bytes", "18446744073709551615",
///               "the file is damaged or no safetensors file; restore it from a copy");
class Error : public std::runtime_error {
 public:
  [[gnu::cold]] Error(const std::string& where, const std::string& expected, const std::string& found,
                      const std::string& cure = {})
      : std::runtime_error(where + ": expected " + expected + ", found " + found + (cure.empty() ? "" : "; " + cure)) {}
};

namespace detail {
/// "1 sample", "2 samples".
[[gnu::cold]] inline std::string counted(std::size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}
/// "0.001", "1e+39"
[[gnu::cold]] inline std::string digits_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
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
