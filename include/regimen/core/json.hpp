// regimen/core/json.hpp — JSON (RFC 8259), read value by value, and text written as JSON.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/utf8.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace regimen::detail {

/// Bytes of the character at `text` in UTF-8; 0 if there is none.
[[gnu::cold]] inline std::size_t length_of_character(const char* text, const char* end) {
  if (text == end) return 0;
  const Utf8 character = utf8_at({text, static_cast<std::size_t>(end - text)}, 0);
  return character.is_valid ? character.length : 0;
}

/// The bytes that a backslash and one of these letters stand for.
inline constexpr std::string_view json_letters = "\"\\/bfnrt", json_bytes = "\"\\/\b\f\n\r\t";

/// Appends `plain` as a JSON string; false: it is not UTF-8.
[[gnu::cold]] inline bool append_json(std::string& to, std::string_view plain) {
  to += '"';
  for (const char *at = plain.data(), *const end = at + plain.size(); at != end;) {
    const std::size_t length = length_of_character(at, end), place = json_bytes.find(*at);
    if (length == 0) return false;
    if (place != std::string_view::npos && *at != '/') {
      to += '\\';
      to += json_letters[place];
    } else if (static_cast<unsigned char>(*at) < 0x20) {
      to += "\\u00";
      to += "01"[*at >> 4];
      to += "0123456789abcdef"[*at & 15];
    } else {
      to.append(at, length);
    }
    at += length;
  }
  to += '"';
  return true;
}

/// Reads a JSON text from its first byte to its last. The caller asks for what its format has; so nothing recurses, and
/// nothing is kept but the value that was read last.
///
///   JsonReader json("file.json", text, "the file is damaged");
///   if (json.value().kind == JsonReader::Kind::object)
///     for (std::string key; json.key(key);) ... json.value() ...
///   json.end();
///
/// failure  Error for a text that is no JSON, when it is reached: at which byte, and what must stand there
class JsonReader final {
 public:
  enum class Kind { object, array, text, whole, number, truth, null };
  struct Value {
    Kind kind{};
    std::string text{};       // decoded; of a number or a truth value, as it is written
    std::uint64_t whole = 0;  // of a number from 0 to 2^64 - 1 without a point or an exponent

    /// For the sentence of an error.
    [[gnu::cold]] std::string words() const {
      if (kind == Kind::text) return '"' + text + '"';
      if (kind == Kind::whole || kind == Kind::number) return text;
      if (kind == Kind::truth) return "a truth value";
      return kind == Kind::object ? "an object" : kind == Kind::array ? "an array" : "null";
    }
  };

  [[gnu::cold]] JsonReader(std::string where, std::string_view text, std::string cure)
      : where_(std::move(where)), cure_(std::move(cure)), begin_(text.data()), end_(begin_ + text.size()), at_(begin_) {
    if (text.starts_with("\xEF\xBB\xBF")) at_ += 3;  // some editors put this mark before UTF-8
  }

  /// The next value: whole, or the beginning of an object or an array, whose contents key or element leads to.
  [[gnu::cold]] Value value() {
    const char first = next();
    is_first_ = first == '{' || first == '[';
    if (first == '-' || is_digit(first)) return number();
    if (take("{")) return {Kind::object};
    if (take("[")) return {Kind::array};
    if (take("\"")) return {Kind::text, string()};
    if (take("true")) return {Kind::truth, "true"};
    if (take("false")) return {Kind::truth, "false"};
    if (take("null")) return {Kind::null};
    fail("a value");
  }
  /// Whether the object that is read has another member, whose key this reads, and whose value comes next.
  [[gnu::cold]] bool key(std::string& to) {
    if (!has_next('}')) return false;
    next();
    if (!take("\"")) fail("a key");
    to = string();
    next();
    if (!take(":")) fail("a colon");
    return true;
  }
  /// Whether the array that is read has another element, which comes next.
  [[gnu::cold]] bool element() { return has_next(']'); }
  /// Nothing but space may follow.
  [[gnu::cold]] void end() {
    next();
    if (at_ != end_) fail("the end");
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  /// The byte that is read next; 0 at the end.
  char now() const { return at_ == end_ ? '\0' : *at_; }
  /// The first byte that is no space, which is read next; 0 at the end.
  char next() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return now();
  }
  bool take(std::string_view mark) {
    const bool is = std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(mark);
    at_ += is ? mark.size() : 0;
    return is;
  }
  [[gnu::cold]] bool has_next(char close) {
    const bool is_first = std::exchange(is_first_, false);
    if (next() == close) {
      ++at_;
      return false;
    }
    if (!is_first && !take(",")) fail(close == '}' ? "a comma or }" : "a comma or ]");
    return true;
  }
  [[gnu::cold]] bool digits() {
    const char* const first = at_;
    while (is_digit(now())) ++at_;
    return at_ != first;
  }
  [[gnu::cold]] Value number() {
    const char* const first = at_;
    bool is_whole = !take("-");
    if (!take("0") && !digits()) fail("a digit");
    if (take(".")) {
      is_whole = false;
      if (!digits()) fail("a digit");
    }
    if (take("e") || take("E")) {
      is_whole = false;
      if (!take("+")) take("-");
      if (!digits()) fail("a digit");
    }
    Value value{Kind::number, std::string(first, at_)};
    if (is_whole && std::from_chars(first, at_, value.whole).ec == std::errc{}) value.kind = Kind::whole;
    return value;
  }
  /// Behind the quotation mark.
  [[gnu::cold]] std::string string() {
    std::string text;
    while (!take("\"")) {
      if (take("\\")) {
        read_escape(text);
        continue;
      }
      const std::size_t length = static_cast<unsigned char>(now()) < 0x20 ? 0 : length_of_character(at_, end_);
      if (length == 0) fail("a character of a string");
      text.append(at_, length);
      at_ += length;
    }
    return text;
  }
  [[gnu::cold]] void read_escape(std::string& to) {
    if (const std::size_t place = at_ == end_ ? std::string_view::npos : json_letters.find(*at_);
        place != std::string_view::npos) {
      to += json_bytes[place];
      ++at_;
      return;
    }
    std::uint32_t code = read_unit();
    if (code >> 10 == 0xDC00 >> 10) fail("the first half of a surrogate pair before the second");
    if (code >> 10 == 0xD800 >> 10) {
      const std::uint32_t low = take("\\") ? read_unit() : 0;
      if (low >> 10 != 0xDC00 >> 10) fail("the second half of a surrogate pair");
      code = 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF));
    }
    append_utf8(to, code);
  }
  /// u and four hexadecimal digits.
  [[gnu::cold]] std::uint32_t read_unit() {
    if (!take("u")) fail("an escape of JSON");
    std::uint32_t unit = 0;
    const char* const begin = at_;
    at_ = std::from_chars(begin, end_ - begin < 4 ? end_ : begin + 4, unit, 16).ptr;
    if (at_ - begin != 4) fail("a hexadecimal digit");
    return unit;
  }
  [[noreturn, gnu::cold]] void fail(const char* expected) const {
    std::string found = "the end";
    if (at_ != end_) {
      const unsigned byte = static_cast<unsigned char>(*at_);
      if (byte > 0x20 && byte < 0x7F) found = std::string(1, *at_);
      else found = std::string("the byte ") + "0123456789ABCDEF"[byte >> 4] + "0123456789ABCDEF"[byte & 15];
    }
    throw Error(where_, "well-formed JSON",
                found + " at byte " + std::to_string(at_ - begin_) + " in place of " + expected, cure_);
  }

  std::string where_, cure_;
  const char *begin_, *end_, *at_;
  bool is_first_ = false;  // of an object's members or an array's elements
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
