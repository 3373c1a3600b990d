// regimen/data/json_lines.hpp — JSON lines: fields of the object in each line, by name, as types; and a writer.
#pragma once

#include <regimen/core/printed.hpp>  // LocaleC
#include <regimen/data/dataset.hpp>
#include <regimen/data/indexed_files.hpp>
#include <regimen/data/rules.hpp>

#if !__has_include(<nlohmann/json.hpp>)
#error "regimen: lines of JSON need nlohmann-json; install nlohmann-json3-dev, and link regimen::json"
#endif
#include <nlohmann/json.hpp>  // 2 s of compile time

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::rule {

/// A row owns its values: the object that a line is parsed to is gone when the row is read. A character is no number of
/// JSON.
/// docs/errors/data.md#field_takes_type
template <class T>
struct field_takes_type {
  static constexpr bool is_character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                                       std::same_as<T, char16_t> || std::same_as<T, char32_t>;
  static constexpr bool holds =
      (std::is_arithmetic_v<T> && !is_character) || std::same_as<T, std::string> || std::same_as<T, nlohmann::json>;
  struct must_hold {
    static_assert(holds,
                  "regimen: JsonLines reads std::string, bool, numbers, json, std::vector and std::optional of these; "
                  "name one of them");
  };
};
template <class T>
struct field_takes_type<std::vector<T>> : field_takes_type<T> {};
template <class T>
struct field_takes_type<std::optional<T>> : field_takes_type<T> {};

}  // namespace regimen::rule

namespace regimen::data {

namespace detail {

/// The JSON type of a field T; JsonLines refuses other types.
template <class T>
std::string json_type() {
  if constexpr (is_of<T, std::optional>) return json_type<typename T::value_type>() + ", null, or no such field";
  else if constexpr (is_of<T, std::vector>) return "a list, of each " + json_type<typename T::value_type>();
  else if constexpr (std::same_as<T, nlohmann::json>) return "a value";
  else if constexpr (std::same_as<T, std::string>) return "a string";
  else if constexpr (std::same_as<T, bool>) return "true or false";
  else if constexpr (rule::field_takes_type<T>::holds) return type_of_number<T>();
  else return {};
}

/// Moves a value to a field; false if it is not of type T.
template <class T>
bool take_field(nlohmann::json& value, T& to) {
  if constexpr (is_of<T, std::optional>) {
    to.reset();
    return value.is_null() || take_field(value, to.emplace());
  } else if constexpr (is_of<T, std::vector>) {
    if (!value.is_array()) return false;
    to.clear();
    for (nlohmann::json& element : value) {
      typename T::value_type one{};
      if (!take_field(element, one)) return false;
      to.push_back(std::move(one));
    }
    return true;
  } else if constexpr (std::same_as<T, nlohmann::json>) {
    to = std::move(value);
    return true;
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value.is_string()) return false;
    to = std::move(value.get_ref<std::string&>());
    return true;
  } else if constexpr (std::same_as<T, bool>) {
    if (value.is_boolean()) to = value.get<bool>();
    return value.is_boolean();
  } else if constexpr (std::floating_point<T>) {
    if (!value.is_number()) return false;
    const auto wide = value.get<double>();
    if (wide > double{(std::numeric_limits<T>::max)()} || wide < double{std::numeric_limits<T>::lowest()}) return false;
    to = static_cast<T>(wide);
    return true;
  } else if constexpr (rule::field_takes_type<T>::holds) {
    const bool fits = value.is_number_unsigned()
                          ? std::in_range<T>(value.get<std::uint64_t>())
                          : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
    if (fits) to = value.get<T>();
    return fits;
  } else {
    return false;
  }
}

/// The fault of a line; none if `found` is empty.
struct LineProblem final {
  std::string where, expected, found;
};
/// Files, and the fields that are read of each line.
template <class... Types>
struct JsonContent final : IndexedFiles {
  using Row = std::tuple<Types...>;
  using Names = std::array<std::string, sizeof...(Types)>;

  JsonContent(const Paths& paths, Names fields) : IndexedFiles(paths), names(std::move(fields)) {}

  LineProblem problem(std::string_view line, Row& row) const {
    nlohmann::json object;
    try {
      const regimen::detail::LocaleC locale;  // the parser takes the first byte alone of a decimal point
      object = nlohmann::json::parse(line.begin(), line.end());
    } catch (const nlohmann::json::exception& exception) { return {"", "an object of JSON", parser_words(exception)}; }
    if (!object.is_object()) return {"", "an object of JSON", object.type_name()};
    LineProblem problem;
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (take(object, names[i], std::get<i>(row), problem), ...);
    }(std::index_sequence_for<Types...>());
    return problem;
  }
  template <class T>
  static void take(nlohmann::json& object, const std::string& name, T& to, LineProblem& problem) {
    if (!problem.found.empty()) return;
    const auto place = object.find(name);
    nlohmann::json none;
    if (!take_field(place == object.end() ? none : *place, to))
      problem = {", field \"" + name + "\"", json_type<T>(), place == object.end() ? "no such field" : shown(*place)};
  }
  /// "column 7: syntax error ...", without the parser's own line, which is always the first.
  static std::string parser_words(const nlohmann::json::exception& exception) {
    const std::string words = exception.what();
    const std::size_t column = words.find("column "), kind = words.find("] ");
    return column != std::string::npos ? words.substr(column)
           : kind != std::string::npos ? words.substr(kind + 2)
                                       : words;
  }
  static std::string shown(const nlohmann::json& value) {
    if (value.is_structured()) return std::string("an ") + value.type_name();
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 80);
  }

  Names names;
};

}  // namespace detail

/// The lines of files of JSON lines, each of which holds an object: fields chosen by name, each as a type.
///
///   Types    std::string, bool, float, double, integers, std::vector and std::optional of these, nlohmann::json
///   value    std::tuple<Types...>, owned
///   format   an object in each line, LF or CRLF; a line of blanks is skipped. Other fields are ignored. If an
///            object has a field twice, the last one counts
///
///   data::JsonLines<std::string, std::int32_t> reviews("reviews-*.jsonl", {"text", "stars"});
///   const auto [text, stars] = reviews.at({.index = 7});
///
/// failure  Error in at() that names the file, the line and the field, for a line that is no object of JSON, a field
///          that is absent, of another type, or a number that its type does not hold. With Corrupt::Skip such lines are
///          left out, and counted, when opened
/// source   jsonlines.org; RFC 8259
/// cost     8 bytes of memory for each line; opening reads all of the files; a line is parsed each time
template <class... Types>
class JsonLines final : public detail::IndexedReader<detail::JsonContent<Types...>> {
  using Content = detail::JsonContent<Types...>;
  using File = detail::IndexedFiles::File;

 public:
  static_assert((sizeof(typename rule::field_takes_type<Types>::must_hold) + ...));
  using Row = typename Content::Row;
  using Names = typename Content::Names;

  template <std::size_t Count>
  JsonLines(const Paths& paths, const std::string (&fields)[Count], const ReaderOptions& options = {})
      : JsonLines(paths, detail::names_of<sizeof...(Types)>(fields), options) {
    static_assert(sizeof(typename rule::names_match_types<Count, Types...>::must_hold));
  }
  template <std::same_as<Names> These>  // no list in braces, which may be shorter
  JsonLines(const Paths& paths, These fields, const ReaderOptions& options = {}) {
    auto content = std::make_shared<Content>(paths, std::move(fields));
    const Names& names = content->names;
    for (auto name = names.begin(); name != names.end(); ++name)
      if (std::find(names.begin(), name, *name) != name)
        throw Error(content->name, "each field once", "\"" + *name + "\" twice");
    for (const File& file : content->files) detail::expect_text(file.path, file.map.bytes());
    const bool skips = options.corrupt == Corrupt::Skip;
    content->index(options.report, "reading JSON lines", [&](const File& file, std::size_t offset) {
      const std::string_view line = line_at(file, offset);
      const std::size_t next = (std::min)(offset + line.size() + 1, file.map.bytes().size());
      Row row;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) return next;
      if (skips && !content->problem(line, row).found.empty()) content->skip(next - offset);
      else content->add(offset);
      return next;
    });
    this->content_ = std::move(content);
  }

  Row at(const Key& key) const {
    const auto place = this->content_->find(key.index);
    Row row;
    const detail::LineProblem problem = this->content_->problem(line_at(place.file, place.offset), row);
    if (problem.found.empty()) return row;
    throw Error(place.by_line() + problem.where, problem.expected, problem.found);
  }
  std::string place(const Key& key) const { return this->content_->find(key.index).by_line(); }

 private:
  static std::string_view line_at(const File& file, std::size_t offset) {
    const std::string_view rest = detail::text_of(file.map.bytes()).substr(offset);
    return rest.substr(0, rest.find('\n'));
  }
};

/// Writes JSON lines, each an object; the file appears, whole, with commit().
///
///   data::JsonLinesWriter lines("reviews.jsonl");
///   lines.write({{"text", "good"}, {"stars", 5}});
///
/// failure  Error for a value that is no object, for text that is no UTF-8; with the system's reason
class JsonLinesWriter final {
 public:
  explicit JsonLinesWriter(const std::string& path) : file_(path) {}

  void write(const nlohmann::json& object) {
    if (!object.is_object()) throw Error(file_.path(), "an object of JSON", object.type_name());
    try {
      file_.put(object.dump() + "\n");
    } catch (const nlohmann::json::exception& exception) {
      throw Error(file_.path(), "text in UTF-8", exception.what());
    }
  }
  void commit() { file_.commit(); }

 private:
  detail::FileWriter file_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
