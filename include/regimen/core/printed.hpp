// regimen/core/printed.hpp — numbers as text and back, the same in every locale.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <locale.h>

namespace regimen::detail {

/// The locale "C" for this thread, to the end of the scope: for functions of C, and for libraries that call them.
class LocaleC final {
 public:
  LocaleC();
  LocaleC(const LocaleC&) = delete;
  LocaleC& operator=(const LocaleC&) = delete;
  ~LocaleC() { ::uselocale(users_); }

 private:
  ::locale_t users_;
};

/// What printf writes in the locale "C". A program may have set another (setlocale, as Qt, GTK and R do), whose numbers
/// have a decimal comma: files that are read again, JSON and drawings must not. No other header prints numbers by a
/// format.
[[gnu::cold, gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

/// "0.001", "1e+39"
[[gnu::cold]] inline std::string digits_of(double number) { return printed("%g", number); }

/// The number that a whole text is, without space or a plus sign; none if it is no number, or T cannot hold it.
template <class T>
[[gnu::cold]] std::optional<T> number_of(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  return code == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/core/printed.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
