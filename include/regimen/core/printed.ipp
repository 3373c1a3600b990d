// regimen/core/printed.ipp — the bodies of printed.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/printed.hpp>

#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace regimen::detail {

REGIMEN_INLINE LocaleC::LocaleC() {
  static const ::locale_t c = ::newlocale(LC_ALL_MASK, "C", ::locale_t{});
  users_ = ::uselocale(c);
}

REGIMEN_INLINE std::string printed(const char* format, ...) {
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

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
