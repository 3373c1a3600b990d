// regimen/data/csv.hpp — tables of text, CSV and TSV: columns by name, as types; and a writer.
#pragma once

#include <regimen/data/dataset.hpp>
#include <regimen/data/files.hpp>
#include <regimen/data/indexed_files.hpp>
#include <regimen/data/rules.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

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
  std::string column{}, expected{}, found{};
};

/// Reads fields from `at` to the end of the row: field(number, text) for each, text without quotes. Returns the begin
/// of the next row; after a problem, the begin of the next line, or the end.
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

/// Files, and the columns that are read of each row.
template <class... Types>
struct CsvContent final : IndexedFiles {
  using Row = std::tuple<Types...>;
  using Names = std::array<std::string, sizeof...(Types)>;
  struct Layout {
    std::size_t fields = 0;
    std::array<std::size_t, sizeof...(Types)> columns{};  // where each of Types stands
  };

  CsvContent(const Paths& paths, Names columns, CsvOptions o)
      : IndexedFiles(paths), names(std::move(columns)), options(std::move(o)) {}

  std::size_t read_header(const File& file) {
    const std::span<const std::byte> bytes = file.map.bytes();
    const char *const begin = text_of(bytes).data(), *const end = begin + bytes.size();
    const bool marked = text_of(bytes).starts_with("\xEF\xBB\xBF");
    FieldProblem problem;
    std::vector<std::string> header;
    const char* const next = scan_row(begin + (marked ? 3 : 0), end, options, problem,
                                      [&](std::size_t, std::string_view text) { header.emplace_back(text); });
    if (problem.at != nullptr) throw refusal(file, problem);
    Layout layout{header.size(), {}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto place = std::find(header.begin(), header.end(), names[i]);
      std::string all;
      for (std::size_t h = 0; h < header.size() && h < 12; ++h) all += (h == 0 ? "" : ", ") + header[h];
      if (place == header.end())
        throw Error(file.path + ", line 1", "a column named \"" + names[i] + "\"",
                    all + (header.size() > 12 ? ", ..." : ""), "does the file begin with a header?");
      if (std::find(place + 1, header.end(), names[i]) != header.end())
        throw Error(file.path + ", line 1", "one column named \"" + names[i] + "\"", "two", "rename one of them");
      layout.columns[i] = static_cast<std::size_t>(place - header.begin());
    }
    layouts.push_back(layout);
    return static_cast<std::size_t>(next - begin);
  }

  /// Reads the row at `offset`, into `row` if it is given; returns where the next one begins.
  std::size_t read(const File& file, std::size_t offset, FieldProblem& problem, Row* row) const {
    const std::span<const std::byte> bytes = file.map.bytes();
    const char *const begin = text_of(bytes).data(), *const end = begin + bytes.size();
    const Layout& layout = layouts[static_cast<std::size_t>(&file - files.data())];
    std::size_t fields = 0;
    FieldProblem wrong;
    const char* const next =
        scan_row(begin + offset, end, options, problem, [&](std::size_t number, std::string_view text) {
          ++fields;
          if (row == nullptr || wrong.at != nullptr) return;
          [&]<std::size_t... i>(std::index_sequence<i...>) {
            ((layout.columns[i] == number ? convert(text, names[i], std::get<i>(*row), begin + offset, wrong) : void()),
             ...);
          }(std::index_sequence_for<Types...>());
        });
    if (problem.at == nullptr && fields != layout.fields)
      problem = FieldProblem{.at = begin + offset,
                             .expected = regimen::detail::counted(layout.fields, "field") + ", as in the header",
                             .found = std::to_string(fields)};
    if (problem.at == nullptr) problem = std::move(wrong);
    return static_cast<std::size_t>(next - begin);
  }
  template <class T>
  static void convert(std::string_view text, const std::string& column, T& to, const char* at, FieldProblem& wrong) {
    if (!parse_field(text, to)) wrong = {at, column, field_type<T>(), "\"" + std::string(text.substr(0, 80)) + "\""};
  }

  static Error refusal(const File& file, const FieldProblem& problem) {
    const auto offset = static_cast<std::size_t>(problem.at - text_of(file.map.bytes()).data());
    return Error(Place{file, offset}.by_line() + (problem.column.empty() ? "" : ", column \"" + problem.column + "\""),
                 problem.expected, problem.found);
  }

  Names names;
  CsvOptions options;
  std::vector<Layout> layouts;  // of each file
};

}  // namespace detail

/// The rows of CSV files: columns chosen by name from the header, each as a type.
///
///   Types    std::string, float, double, integers, bool (true, false, 1, 0), std::optional of these, whose field may
///            be empty
///   value    std::tuple<Types...>, owned
///   format   RFC 4180: a header, fields in quotation marks if need be, LF or CRLF; a byte order mark is ignored.
///            tabs() for values separated by tabs. All files have the same header, or the columns in another order
///
///   data::Csv<float, std::string> houses("houses.csv", {"price", "street"});
///   const auto [price, street] = houses.at({.index = 7});
///
/// failure  Error that names the file, the line and the column: when opened, for a column that is absent or occurs
///          twice, a row with more or fewer fields than the header, quotation marks that do not match; in at(), for a
///          field that is not of its type. With Corrupt::Skip such rows are left out and counted when opened
/// cost     8 bytes of memory for each row; opening reads all of the files
template <class... Types>
class Csv final : public detail::IndexedReader<detail::CsvContent<Types...>> {
  using Content = detail::CsvContent<Types...>;
  using File = detail::IndexedFiles::File;

 public:
  static_assert((sizeof(typename rule::column_takes_type<Types>::must_hold) + ...));
  using Row = typename Content::Row;
  using Names = typename Content::Names;

  template <std::size_t Count>
  Csv(const Paths& paths, const std::string (&columns)[Count], CsvOptions options = {})
      : Csv(paths, detail::names_of<sizeof...(Types)>(columns), std::move(options)) {
    static_assert(sizeof(typename rule::names_match_types<Count, Types...>::must_hold));
  }
  template <std::same_as<Names> These>  // no list in braces, which may be shorter
  Csv(const Paths& paths, These columns, CsvOptions options = {}) {
    auto content = std::make_shared<Content>(paths, std::move(columns), std::move(options));
    const bool skips = content->options.corrupt == Corrupt::Skip;
    for (const File& file : content->files) {
      if (file.map.bytes().empty()) throw Error(file.path, "a header with the names of columns", "an empty file");
      detail::expect_text(file.path, file.map.bytes());
    }
    content->index(content->options.report, "reading tables", [&](const File& file, std::size_t offset) {
      if (offset == 0) return content->read_header(file);
      detail::FieldProblem problem;
      Row row;
      const std::size_t next = content->read(file, offset, problem, skips ? &row : nullptr);
      if (problem.at == nullptr) content->add(offset);
      else if (skips) content->skip(next - offset);
      else throw content->refusal(file, problem);
      return next;
    });
    this->content_ = std::move(content);
  }

  Row at(const Key& key) const {
    const auto [file, offset] = this->content_->find(key.index);
    detail::FieldProblem problem;
    Row row;
    (void)this->content_->read(file, offset, problem, &row);
    if (problem.at != nullptr) throw this->content_->refusal(file, problem);
    return row;
  }
  std::string place(const Key& key) const { return this->content_->find(key.index).by_line(); }
};

/// Writes a table that Csv reads; it appears, whole, with commit(). Fields are quoted if necessary; numbers have enough
/// digits to read the same bits.
///
///   data::CsvWriter table("houses.csv", {"price", "street"});
///   table.write(250'000.0f, "High Street");
///   table.commit();
///
/// failure  Error for a row of another number of fields; without quotes, for text that would need them
class CsvWriter final {
 public:
  CsvWriter(const std::string& path, const std::vector<std::string>& columns, const CsvOptions& options = {})
      : columns_(columns.size()), options_(options), file_(path) {
    for (const std::string& column : columns) field(column);
    end_row();
  }

  template <class... Values>
  void write(const Values&... values) {
    if (sizeof...(Values) != columns_)
      throw Error(file_.path(), regimen::detail::counted(columns_, "field"), std::to_string(sizeof...(Values)));
    (field(values), ...);
    end_row();
  }
  void commit() { file_.commit(); }

 private:
  template <class T>
  void field(const T& value) {
    if (fields_++ != 0) line_ += options_.separator;
    if constexpr (detail::is_of<T, std::optional>) {
      if (value) put(*value);
    } else {
      put(value);
    }
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      line_ += value ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::array<char, 64> digits{};
      line_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    } else {
      const std::string_view text = value;
      const std::string special = (options_.quotes ? "\"\r\n" : "\r\n") + std::string(1, options_.separator);
      if (text.find_first_of(special) == std::string_view::npos) {
        line_ += text;
        return;
      }
      if (!options_.quotes)
        throw Error(file_.path(), "text without separators and ends of lines, as it is not quoted",
                    "\"" + std::string(text.substr(0, 80)) + "\"", "write a table with quotes");
      line_ += '"';
      for (const char c : text) line_.append(c == '"' ? 2 : 1, c);
      line_ += '"';
    }
  }
  void end_row() {
    line_ += '\n';
    file_.put(line_);
    line_.clear();
    fields_ = 0;
  }

  std::size_t columns_, fields_ = 0;
  CsvOptions options_;
  std::string line_;
  detail::FileWriter file_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
