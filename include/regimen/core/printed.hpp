// regimen/core/printed.hpp — numbers as text, the same in every locale.
#pragma once

#include <string>

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

/// What printf writes in the locale "C". A program may have set another (setlocale, as Qt, GTK and R do), whose numbers have
/// a decimal comma: files that are read again, JSON and drawings must not. No other header prints numbers by a format.
[[gnu::cold, gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

/// "0.001", "1e+39"
[[gnu::cold]] inline std::string digits_of(double number) { return printed("%g", number); }

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/core/printed.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
