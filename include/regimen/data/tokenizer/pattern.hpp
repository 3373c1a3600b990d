// regimen/data/tokenizer/pattern.hpp — the patterns that cut text into words, matched by PCRE2.
#pragma once

#include <regimen/core/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#if defined(REGIMEN_HAS_PCRE2)
#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>
#endif

namespace regimen::data {

/// The patterns of published vocabularies. A vocabulary goes with the pattern that it was trained with.
namespace patterns {
inline constexpr const char* gpt2 = R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";
inline constexpr const char* cl100k =  // GPT-4's
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
inline constexpr const char* llama3 = cl100k;
}  // namespace patterns

namespace bpe {

/// The two peers' regular expressions: Oniguruma in Ruby's syntax, and Rust's with look-around.
enum class Dialect { Tokenizers, Tiktoken };

/// ASCII, in every locale.
constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
constexpr bool is_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }

/// A pattern of another library, for PCRE2. Parts with another meaning there are written in another way (`\s` is
/// Unicode's White_Space in both dialects, `\p{Greek}` a script); an error names parts that PCRE2 cannot express.
class Translation final {
 public:
  Translation(std::string_view text, Dialect dialect, std::string where)
      : text_(text), where_(std::move(where)), dialect_(dialect) {
    while (at_ < text_.size()) item();
  }
  std::string take() { return std::move(result_); }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool next_is(std::string_view words) const { return text_.substr(at_).starts_with(words); }
  void copy(std::size_t count) {
    result_.append(text_.substr(at_, count));
    at_ += count;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(where_ + ", pattern, byte " + std::to_string(at_), "what Regimen reads of regular expressions",
                "'" + std::string(what) + "'", "write the pattern without it");
  }

  /// `words` in place of so many bytes.
  void put(const char* words, std::size_t count) { result_ += words, at_ += count; }
  void item() {
    const char letter = peek();
    if (letter == '\\') return escape();
    if (letter == '[') return set();
    if (letter == '(') return group();
    if (letter == '{') return interval();
    if (letter == '.') return put("[^\\n]", 1);
    // $ is the end of a line in one dialect, of the text in the other
    if (letter == '^' || (letter == '$' && dialect_ == Dialect::Tokenizers)) refuse(text_.substr(at_, 1));
    if (letter == '$') return put("\\z", 1);
    copy(1);
  }
  void escape() {
    struct Meaning {
      char letter;
      const char* words;
    };
    constexpr Meaning meanings[] = {
        {'s', "\\p{White_Space}"}, {'S', "\\P{White_Space}"}, {'d', "\\p{Nd}"}, {'D', "\\P{Nd}"}, {'v', "\\x0b"}};
    const char letter = peek(1);
    for (const Meaning& other : meanings)
      if (letter == other.letter) return put(other.words, 2);
    if (letter == 'p' || letter == 'P') return property();
    const bool means_itself = letter == 'r' || letter == 'n' || letter == 't' || letter == 'f';
    const bool is_sign = letter > ' ' && letter < '\x7f' && !is_letter(letter) && !is_digit(letter);
    if (!means_itself && !is_sign) refuse(text_.substr(at_, 2));
    copy(2);
  }

  void property() {
    const std::size_t end = text_.find('}', at_);
    if (peek(2) != '{' || end == std::string_view::npos || end - at_ > 40) refuse(text_.substr(at_, 3));
    const std::string_view name = text_.substr(at_ + 3, end - at_ - 3);
    const bool is_category =
        !name.empty() && name.size() <= 2 && std::string_view("CLMNPSZ").find(name[0]) != std::string_view::npos;
    for (const char letter : name)
      if (!is_letter(letter) && letter != '_') refuse(text_.substr(at_, end + 1 - at_));
    result_ += text_.substr(at_, 3);
    if (!is_category) result_ += "sc:";  // a script: PCRE2 would take characters that several scripts use, too
    result_ += std::string(name) + "}";
    at_ = end + 1;
  }

  void set() {
    copy(peek(1) == '^' ? 2 : 1);
    if (peek() == ']') refuse("[]");
    while (peek() != ']') {
      if (at_ >= text_.size()) refuse("[ without ]");
      if (peek() == '[') refuse("[ in a set");
      for (const char* const operation : {"&&", "--", "~~"})
        if (next_is(operation)) refuse(operation);
      if (peek() == '\\') escape();
      else copy(1);
    }
    copy(1);
  }

  void group() {
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?>", "(?i:", "(?<=", "(?<!"})
      if (next_is(known)) return copy(known.size());
    if (peek(1) == '?' || peek(1) == '*') refuse(text_.substr(at_, 3));
    copy(1);
  }

  void interval() {
    std::size_t length = 1;
    const auto digits = [&] {
      const std::size_t begin = length;
      while (is_digit(peek(length))) ++length;
      return length - begin;
    };
    bool is_interval = digits() > 0;
    if (peek(length) == ',') ++length, digits();
    is_interval = is_interval && peek(length) == '}';
    if (!is_interval) refuse("{");
    const char behind = peek(length + 1);
    if (dialect_ == Dialect::Tokenizers && (behind == '+' || behind == '?')) refuse(text_.substr(at_, length + 2));
    copy(length + 1);
  }

  std::string_view text_;
  std::string where_, result_;
  std::size_t at_ = 0;
  Dialect dialect_;
};

/// A pattern that is this text, character for character.
inline std::string literal_pattern(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter > ' ' && letter < '\x7f' && !is_letter(letter) && !is_digit(letter)) result += '\\';
    result += letter;
  }
  return result;
}

#if defined(REGIMEN_HAS_PCRE2)

[[gnu::cold]] inline std::string words_of_code(int code) {
  PCRE2_UCHAR8 words[200];
  pcre2_get_error_message_8(code, words, sizeof words);
  return reinterpret_cast<const char*>(words);
}

/// A compiled pattern, shared by all threads.
class Pattern final {
 public:
  /// Refuses patterns that match the empty text: peers disagree about where they match.
  Pattern(std::string_view text, Dialect dialect, const std::string& where) {
    const std::string translated = Translation(text, dialect, where).take();
    int code = 0;
    std::size_t offset = 0;
    code_.reset(pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(translated.data()), translated.size(),
                                PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, nullptr),
                [](pcre2_code_8* compiled) { pcre2_code_free_8(compiled); });
    if (code_ == nullptr) {
      throw Error(where + ", pattern", "a regular expression", words_of_code(code),
                  "the pattern is '" + std::string(text.substr(0, 200)) + "'");
    }
    std::uint32_t matches_empty = 0;
    pcre2_pattern_info_8(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty != 0)
      throw Error(where + ", pattern", "one that does not match the empty text",
                  "'" + std::string(text.substr(0, 200)) + "'");
    has_jit_ = pcre2_jit_compile_8(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }

 private:
  friend class Matcher;
  std::shared_ptr<pcre2_code_8> code_;
  bool has_jit_ = false;
};

/// Finds matches of a pattern; one for each thread.
class Matcher final {
 public:
  explicit Matcher(const Pattern& pattern)
      : code_(pattern.code_), has_jit_(pattern.has_jit_), data_(pcre2_match_data_create_8(1, nullptr)) {
    if (has_jit_) {
      context_.reset(pcre2_match_context_create_8(nullptr));
      stack_.reset(pcre2_jit_stack_create_8(std::size_t{32} << 10, std::size_t{16} << 20, nullptr));
      if (context_ == nullptr || stack_ == nullptr) throw std::bad_alloc();
      pcre2_jit_stack_assign_8(context_.get(), nullptr, stack_.get());
    }
    if (data_ == nullptr) throw std::bad_alloc();
    places_ = pcre2_get_ovector_pointer_8(data_.get());
  }

  /// The first match at or after `from` in valid UTF-8, a function of only these two. False: there is none.
  bool find(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end) {
    const auto* const subject = reinterpret_cast<PCRE2_SPTR8>(text.data());
    const int found =
        has_jit_ ? pcre2_jit_match_8(code_.get(), subject, text.size(), from, 0, data_.get(), context_.get())
                 : pcre2_match_8(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, data_.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found < 0) fail(found, from);
    begin = places_[0];
    end = places_[1];
    if (begin < from || end <= begin) fail(PCRE2_ERROR_INTERNAL, from);  // look-behind with \K, which is refused
    return true;
  }

 private:
  [[noreturn, gnu::cold]] static void fail(int code, std::size_t from) {
    throw Error("text, byte " + std::to_string(from), "a pattern that matches in bounded time and memory",
                words_of_code(code), "cut the text there, or use another pattern");
  }
  struct Free {
    void operator()(pcre2_match_data_8* data) const { pcre2_match_data_free_8(data); }
    void operator()(pcre2_match_context_8* context) const { pcre2_match_context_free_8(context); }
    void operator()(pcre2_jit_stack_8* stack) const { pcre2_jit_stack_free_8(stack); }
  };
  std::shared_ptr<pcre2_code_8> code_;
  bool has_jit_;
  std::unique_ptr<pcre2_match_data_8, Free> data_;
  std::unique_ptr<pcre2_match_context_8, Free> context_;
  std::unique_ptr<pcre2_jit_stack_8, Free> stack_;
  PCRE2_SIZE* places_ = nullptr;
};

#else

class Pattern final {
 public:
  Pattern(std::string_view, Dialect, const std::string& where) {
    throw Error(where, "PCRE2, which cuts text into words", "a program that was built without it",
                "install libpcre2-dev, and link regimen::tokenizers (REGIMEN_PCRE2=ON says why it is not found)");
  }
};
class Matcher final {
 public:
  explicit Matcher(const Pattern&) {}
  bool find(std::string_view, std::size_t, std::size_t&, std::size_t&) { return false; }
};

#endif

}  // namespace bpe
}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
