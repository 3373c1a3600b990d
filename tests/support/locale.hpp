// tests/support/locale.hpp — a locale whose numbers are written otherwise, as a program may have set it.
#pragma once

#include "../temporary.hpp"

#include <clocale>
#include <cstdlib>
#include <locale>
#include <string>

namespace support {

/// To the end of the scope: numbers of C as `source` has them (setlocale; made by localedef from the system's description),
/// those of C++ streams with a decimal comma and grouped digits.
///
///   de_DE   1.234,5
///   ps_AF   a decimal point of two bytes
class OtherLocale {
 public:
  explicit OtherLocale(const std::string& source) : streams_(std::locale::classic(), new Numbers) {
    // Without its own messages and with warnings it is still one: only what it has of numbers matters.
    const std::string made = directory_ / source;
    (void)!std::system(("localedef -c -i " + source + " -f UTF-8 " + made + " >/dev/null 2>&1").c_str());
    ::setenv("LOCPATH", directory_.path().c_str(), 1);
    is_there_ = std::setlocale(LC_ALL, source.c_str()) != nullptr;
    ::unsetenv("LOCPATH");
    std::locale::global(streams_);
  }
  OtherLocale(const OtherLocale&) = delete;
  OtherLocale& operator=(const OtherLocale&) = delete;
  ~OtherLocale() {
    std::locale::global(std::locale::classic());
    std::setlocale(LC_ALL, "C");
  }
  /// False where the system has no localedef, or not this description: then only streams are changed.
  bool is_there() const { return is_there_; }

 private:
  struct Numbers : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  test::Directory directory_;
  std::locale streams_;
  bool is_there_ = false;
};

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
