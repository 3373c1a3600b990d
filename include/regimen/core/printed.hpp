// regimen/core/printed.hpp — numbers as text, the same in every locale.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>

#include <locale.h>

namespace regimen::detail {

/// The locale "C" for this thread, to the end of the scope: for functions of C, and for libraries that call them.
class LocaleC final {
 public:
  LocaleC() {
    static const ::locale_t c = ::newlocale(LC_ALL_MASK, "C", ::locale_t{});
    users_ = ::uselocale(c);
  }
  LocaleC(const LocaleC&) = delete;
  LocaleC& operator=(const LocaleC&) = delete;
  ~LocaleC() { ::uselocale(users_); }

 private:
  ::locale_t users_;
};

/// What printf writes in the locale "C". A program may have set another (setlocale, as Qt, GTK and R do), whose numbers have
/// a decimal comma: files that are read again, JSON and drawings must not. No other header prints numbers by a format.
[[gnu::cold, gnu::format(printf, 1, 2)]] inline std::string printed(const char* format, ...) {
  const LocaleC locale;
  std::va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, format, values);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(values);
  return text;
}

/// "0.001", "1e+39"
[[gnu::cold]] inline std::string digits_of(double number) { return printed("%g", number); }

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
