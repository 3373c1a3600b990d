// regimen/data/csv_row.hpp — a row of a table of text: its fields, and their types.
#pragma once

#include <regimen/data/dataset.hpp>
#include <regimen/data/files.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace regimen::data {

struct CsvOptions final {
  char separator = ',';
  bool quotes = true;  // false: a quotation mark is a character like others
  Corrupt corrupt = Corrupt::Refuse;
  Report report = {};
};

/// Values separated by tabs, without quotes.
inline CsvOptions tabs(Corrupt corrupt = Corrupt::Refuse) { return {'\t', false, corrupt, {}}; }

namespace detail {

/// The whole of `text` as a T; false if it is none.
template <class T>
bool parse_field(std::string_view text, T& to) {
  if constexpr (is_of<T, std::optional>) {
    to.reset();
    return text.empty() || parse_field(text, to.emplace());
  } else if constexpr (std::same_as<T, std::string>) {
    to.assign(text);
    return true;
  } else if constexpr (std::same_as<T, bool>) {
    to = text == "true" || text == "1";
    return to || text == "false" || text == "0";
  } else if constexpr (std::is_arithmetic_v<T>) {
    const char* const last = text.data() + text.size();
    const auto [end, code] = std::from_chars(text.data(), last, to);
    if constexpr (std::floating_point<T>)
      if (code == std::errc::result_out_of_range && end == last) {  // too large, which is damage, or too small
        long double wide = 0;
        if (std::from_chars(text.data(), last, wide).ec != std::errc{} || !(wide > -1 && wide < 1)) return false;
        to = static_cast<T>(wide);
        return true;
      }
    return code == std::errc{} && end == last;
  } else {
    return false;  // Csv refuses the type
  }
}

template <class T>
std::string field_type() {
  if constexpr (is_of<T, std::optional>) return field_type<typename T::value_type>() + ", or nothing";
  else if constexpr (std::same_as<T, std::string>) return "text";
  else if constexpr (std::same_as<T, bool>) return "true, false, 1 or 0";
  else if constexpr (std::is_arithmetic_v<T>) return type_of_number<T>();
  else return {};  // Csv refuses the type
}

/// The fault of a row, and its place.
struct FieldProblem {
  const char* at = nullptr;  // null: nothing
  std::string column, expected, found;
};

/// Reads fields from `at` to the end of the row: field(number, text) for each, text without quotes. Returns where the next row
/// begins; after a problem, the next line, or the end.
template <class Field>
const char* scan_row(const char* at, const char* end, const CsvOptions& options, FieldProblem& problem,
                     const Field& field) {
  const auto wrong = [&](const char* place, const char* expected, const char* found) {
    problem = {place, {}, expected, found};
    const char* const line = std::find(place, end, '\n');
    return line == end ? end : line + 1;
  };
  std::string unquoted;
  for (std::size_t number = 0;; ++number) {
    std::string_view text;
    if (options.quotes && at != end && *at == '"') {
      const char* const quote = at++;
      for (unquoted.clear();;) {
        const char* const close = std::find(at, end, '"');
        if (close == end) {
          (void)wrong(quote, "a closing quotation mark", "the end of the file");
          return end;  // nothing says where the next row begins
        }
        unquoted.append(at, close);
        at = close + 1;
        if (at == end || *at != '"') break;
        unquoted += *at++;
      }
      text = unquoted;
      if (at != end && *at == '\r' && at + 1 != end && at[1] == '\n') ++at;
      if (at != end && *at != options.separator && *at != '\n')
        return wrong(at, "a separator or the end of the line after a closing quotation mark", "another character");
    } else {
      const char* const begin = at;
      while (at != end && *at != options.separator && *at != '\n') {
        if (options.quotes && *at == '"')
          return wrong(at, "quotation marks around the whole field, and doubled in it", "one inside the field");
        ++at;
      }
      const char* last = at;
      if (last != begin && last[-1] == '\r' && at != end && *at == '\n') --last;
      text = {begin, last};
    }
    field(number, text);
    if (at == end) return end;
    if (*at++ == '\n') return at;
  }
}

}  // namespace detail

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
