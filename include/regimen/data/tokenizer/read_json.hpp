// regimen/data/tokenizer/read_json.hpp — reads tokenizer.json of Hugging Face's tokenizers.
#pragma once

#include <regimen/core/mapped_file.hpp>
#include <regimen/core/printed.hpp>  // LocaleC
#include <regimen/data/tokenizer/parts.hpp>
#include <regimen/data/tokenizer/pattern.hpp>

#if !__has_include(<nlohmann/json.hpp>)
#error "regimen: tokenizers need nlohmann-json; install nlohmann-json3-dev, and link regimen::tokenizers"
#endif
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace regimen::data::bpe {

inline std::string_view text_of(const MappedFile& file, const std::string& path) {
  const auto bytes = file.bytes();
  if (bytes.size() > std::size_t{512} << 20)
    throw Error(path, "a vocabulary of at most 512 MiB", std::to_string(bytes.size()) + " bytes",
                "is it a file of text?");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline nlohmann::json parse_json(std::string_view text, const std::string& name) {
  try {
    const regimen::detail::LocaleC locale;  // the parser takes the first byte alone of a decimal point
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {
    throw Error(name, "JSON", error.what(), "the file is damaged, or cut off");
  }
}

/// Fills Parts from JSON; every member that would change ids is read, or refused by its name.
class JsonReader final {
 public:
  using Json = nlohmann::json;

  explicit JsonReader(const std::string& name) { parts_.name = name; }

  Parts tokenizer(std::string_view text, bool text_is_nfc) {
    const Json root = parse_json(text, parts_.name);
    knows(root, "",
          {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
           "decoder", "model"});
    for (const char* const shortens : {"truncation", "padding"})
      if (find(root, shortens) != nullptr)
        refuse(shortens, "null", "an object", "set it to null: windows are cut by the source");
    model(need(root, "model"));
    if (const Json* const normalizer = find(root, "normalizer")) {
      const std::string type = type_of(*normalizer, "normalizer");
      if (type != "NFC" || !text_is_nfc)
        refuse("normalizer", "null", type,
               type == "NFC" ? "give texts in form NFC, and say so: TokenizerOptions{.text_is_nfc = true}" : "");
      parts_.is_nfc = true;
    }
    pre_tokenizer(need(root, "pre_tokenizer"), "pre_tokenizer", true);
    if (!has_bytes_)
      refuse("pre_tokenizer", "ByteLevel, alone or at the end of a Sequence", "none",
             "only byte-level vocabularies are read");
    if (const Json* const decoder = find(root, "decoder"))
      if (const std::string type = type_of(*decoder, "decoder"); type != "ByteLevel")
        refuse("decoder", "ByteLevel", type);
    if (const Json* const added = find(root, "added_tokens")) added_tokens(*added);
    if (const Json* const post = find(root, "post_processor")) post_processor(*post);
    return std::move(parts_);
  }

  /// GPT-2's two files.
  Parts vocabulary_and_merges(std::string_view vocabulary, std::string_view merges, const std::string& merges_name) {
    vocabulary_of(parse_json(vocabulary, parts_.name));
    parts_.cuts.push_back({.pattern = patterns::gpt2});
    for (std::size_t at = 0, line = 1; at < merges.size(); ++line) {
      const std::size_t end = (std::min)(merges.find('\n', at), merges.size());
      std::string_view words = merges.substr(at, end - at);
      if (words.ends_with('\r')) words.remove_suffix(1);
      if (!words.empty()) merge(words, merges_name + ", line " + std::to_string(line));
      at = end + 1;
    }
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& expected, const std::string& found,
                           const std::string& cure = {}) const {
    throw Error(parts_.name + (what.empty() ? "" : ", " + what), expected, found, cure);
  }
  static std::string shown(const Json& value) {
    if (value.is_structured())
      return value.is_array() ? "an array" : "an object";  // dump() goes as deep as they are nested
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= 80 ? text : text.substr(0, 77) + "...";
  }
  /// A member that is there and not null.
  static const Json* find(const Json& object, const std::string& key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& need(const Json& object, const std::string& key) const {
    const Json* const value = find(object, key);
    if (value == nullptr) refuse(key, "a member of this name", "none", "only byte-level BPE is read");
    return *value;
  }
  void knows(const Json& object, const std::string& what, std::initializer_list<std::string_view> keys) const {
    if (!object.is_object()) refuse(what, "an object", shown(object));
    for (const auto& [key, value] : object.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        refuse(what, "members that Regimen knows", "'" + key + "'");
  }
  static bool is_text(const Json& value, std::string_view text) {
    return value.is_string() && value.get_ref<const std::string&>() == text;
  }
  std::string type_of(const Json& object, const std::string& what) const {
    if (!object.is_object()) refuse(what, "an object", shown(object));
    return string(need(object, "type"), what + ", type");
  }
  std::string string(const Json& value, const std::string& what) const {
    if (!value.is_string()) refuse(what, "a text", shown(value));
    return value.get<std::string>();
  }
  bool flag(const Json& object, const char* key, bool preset, const std::string& what) const {
    const Json* const value = find(object, key);
    if (value == nullptr) return preset;
    if (!value->is_boolean()) refuse(what + ", " + key, "true or false", shown(*value));
    return value->get<bool>();
  }
  std::uint64_t number(const Json& value, const std::string& what) const {
    if (!value.is_number_unsigned()) refuse(what, "a whole number", shown(value));
    return value.get<std::uint64_t>();
  }
  const Json& array(const Json& value, const std::string& what) const {
    if (!value.is_array()) refuse(what, "an array", shown(value));
    return value;
  }

  // ---- the model

  void model(const Json& object) {
    if (const Json* const type = object.is_object() ? find(object, "type") : nullptr;
        type != nullptr && !is_text(*type, "BPE"))
      refuse("model", "BPE", shown(*type));
    knows(object, "model",
          {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
           "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (const Json* const dropout = find(object, "dropout");
        dropout != nullptr && (!dropout->is_number() || dropout->get<double>() != 0))
      refuse("model, dropout", "null", shown(*dropout), "set it to null: encoding is deterministic");
    for (const char* const mark : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json* const text = find(object, mark); text != nullptr && !is_text(*text, ""))
        refuse(std::string("model, ") + mark, "null", shown(*text));
    vocabulary_of(need(object, "vocab"));
    const bool is_complete = 256 == std::ranges::count_if(parts_.tokens, [](const Token& token) {
                               return token.kind == Token::Bytes && token.bytes.size() == 1;
                             });
    if (find(object, "unk_token") != nullptr && !is_complete)
      refuse("model, unk_token", "a token for every byte", shown(object["unk_token"]),
             "bytes without a token are refused, not replaced");
    if (flag(object, "byte_fallback", false, "model") && !is_complete) refuse("model, byte_fallback", "false", "true");
    parts_.whole_words = flag(object, "ignore_merges", false, "model");
    std::size_t index = 0;
    for (const Json& pair : array(need(object, "merges"), "model, merges")) {
      const std::string where = parts_.name + ", merge " + std::to_string(index++);
      if (pair.is_string()) {
        merge(pair.get_ref<const std::string&>(), where);
      } else {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
          throw Error(where, "two tokens", shown(pair));
        merge(pair[0].get_ref<const std::string&>(), pair[1].get_ref<const std::string&>(), where);
      }
    }
  }

  void vocabulary_of(const Json& vocabulary) {
    if (!vocabulary.is_object()) refuse("vocabulary", "an object of tokens and their ids", shown(vocabulary));
    ids_.reserve(vocabulary.size());
    for (const auto& [text, id] : vocabulary.items()) {
      Token token{.kind = Token::Bytes};
      if (!from_characters(text, token.bytes) || text.empty()) token = {.bytes = text, .kind = Token::Text};
      const std::uint64_t at = number(id, "id of '" + text.substr(0, 60) + "'");
      put_token(parts_, at, std::move(token), vocabulary.size());
      ids_.emplace(text, static_cast<std::uint32_t>(at));
    }
  }
  void merge(std::string_view words, const std::string& where) {
    if (words.starts_with("#version")) return;
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos || words.find(' ', space + 1) != std::string_view::npos)
      throw Error(where, "two tokens with a space between", "'" + std::string(words.substr(0, 80)) + "'");
    merge(std::string(words.substr(0, space)), std::string(words.substr(space + 1)), where);
  }
  void merge(const std::string& first, const std::string& second, const std::string& where) {
    const auto id = [&](const std::string& text) {
      const auto found = ids_.find(text);
      if (found == ids_.end())
        throw Error(where, "tokens of the vocabulary", "'" + text.substr(0, 80) + "'",
                    "the vocabulary belongs to other merges");
      if (parts_.tokens[found->second].kind != Token::Bytes)
        throw Error(where, "tokens that stand for bytes", "'" + text.substr(0, 80) + "'");
      return found->second;
    };
    parts_.merges.push_back({id(first), id(second), id(first + second)});
  }

  // ---- the parts around the model

  void pre_tokenizer(const Json& object, const std::string& what, bool is_outermost) {
    const std::string type = type_of(object, what);
    if (has_bytes_) refuse(what, "nothing behind ByteLevel", type);
    if (type == "Sequence" && is_outermost) {
      knows(object, what, {"type", "pretokenizers"});
      for (const Json& one : array(need(object, "pretokenizers"), what)) pre_tokenizer(one, what, false);
    } else if (type == "ByteLevel") {
      knows(object, what, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
      parts_.prefix_space = flag(object, "add_prefix_space", true, what);
      if (parts_.prefix_space && !parts_.cuts.empty())
        refuse(what + ", add_prefix_space", "false behind another pre-tokenizer", "true");
      if (flag(object, "use_regex", true, what)) parts_.cuts.push_back({.pattern = patterns::gpt2});
      has_bytes_ = true;
    } else if (type == "Digits") {
      knows(object, what, {"type", "individual_digits"});
      parts_.cuts.push_back({.pattern = flag(object, "individual_digits", false, what) ? "\\p{N}" : "\\p{N}+"});
    } else if (type == "Split") {
      knows(object, what, {"type", "pattern", "behavior", "invert"});
      const std::string behavior = string(need(object, "behavior"), what + ", behavior");
      const bool inverts = flag(object, "invert", false, what);
      if (!(behavior == "Isolated" || (behavior == "Removed" && inverts)))
        refuse(what + ", behavior", "Isolated, or Removed with invert", behavior + (inverts ? " with invert" : ""));
      const Json& pattern = need(object, "pattern");
      const bool is_regex = pattern.is_object() && find(pattern, "Regex") != nullptr;
      knows(pattern, what + ", pattern", {"Regex", "String"});
      const std::string text = string(need(pattern, is_regex ? "Regex" : "String"), what + ", pattern");
      parts_.cuts.push_back({.pattern = text, .drops_rest = behavior == "Removed", .is_literal = !is_regex});
    } else {
      refuse(what, "Sequence, Split, Digits and ByteLevel", type);
    }
    if (parts_.cuts.size() > 16) refuse(what, "at most 16 cuts", "more");
  }

  void added_tokens(const Json& tokens) {
    const std::size_t model_size = ids_.size();
    std::size_t next = model_size;
    for (const Json& entry : array(tokens, "added_tokens")) {
      knows(entry, "added_tokens", {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      AddedToken token{.content = string(need(entry, "content"), "added_tokens, content")};
      const std::string what = "added token '" + token.content.substr(0, 60) + "'";
      const std::uint64_t id = number(need(entry, "id"), what + ", id");
      for (const char* const strips : {"single_word", "lstrip", "rstrip"})
        if (flag(entry, strips, false, what)) refuse(what + ", " + strips, "false", "true");
      token.special = flag(entry, "special", false, what);
      token.normalized = flag(entry, "normalized", !token.special, what);
      if (token.content.empty()) refuse(what, "a text", "an empty one");
      const auto known = ids_.find(token.content);
      const std::size_t right = known != ids_.end() ? known->second : next;
      if (id != right)
        refuse(what + ", id", std::to_string(right), std::to_string(id),
               "tokenizers gives it another id than the file says");
      if (known == ids_.end()) {
        put_token(parts_, id, {.bytes = token.content, .kind = Token::Text, .outside = true},
                  model_size + tokens.size());
        ids_.emplace(token.content, static_cast<std::uint32_t>(id));
        next = right + 1;
      } else if (std::any_of(parts_.added.begin(), parts_.added.end(),
                             [&](const AddedToken& other) { return other.content == token.content; })) {
        refuse(what, "one entry", "two");
      }
      parts_.tokens[right].special = token.special;
      token.id = static_cast<std::int32_t>(id);
      parts_.added.push_back(std::move(token));
    }
  }

  void post_processor(const Json& object) {
    const std::string type = type_of(object, "post_processor");
    if (type == "ByteLevel") return;  // of offsets
    if (type == "Sequence") {
      for (const Json& one : array(need(object, "processors"), "post_processor")) {
        if (type_of(one, "post_processor") == "Sequence") refuse("post_processor", "one Sequence", "a Sequence in it");
        post_processor(one);
      }
      return;
    }
    if (type != "TemplateProcessing" || has_frame_)
      refuse("post_processor", "ByteLevel and one TemplateProcessing", type);
    has_frame_ = true;
    bool is_behind = false;
    for (const Json& piece : array(need(object, "single"), "post_processor, single")) {
      knows(piece, "post_processor, single", {"SpecialToken", "Sequence"});
      if (const Json* const text = find(piece, "Sequence")) {
        if (is_behind || !text->is_object() || find(*text, "id") == nullptr || !is_text(*find(*text, "id"), "A"))
          refuse("post_processor, single", "one Sequence, A", shown(piece));
        is_behind = true;
        continue;
      }
      const Json& mark = need(piece, "SpecialToken");
      const std::string id = mark.is_object() ? string(need(mark, "id"), "post_processor, single") : "";
      const Json& all = need(object, "special_tokens");
      const Json* const found = all.is_object() ? find(all, id) : nullptr;
      if (found == nullptr) refuse("post_processor, special_tokens", "'" + id + "'", "none");
      const Json& entry = *found;
      if (!entry.is_object()) refuse("post_processor, special_tokens", "an object", shown(entry));
      for (const Json& one : array(need(entry, "ids"), "post_processor, special_tokens")) {
        const std::uint64_t token = number(one, "post_processor, special_tokens, ids");
        if (token >= parts_.tokens.size() || parts_.tokens[static_cast<std::size_t>(token)].kind == Token::Absent)
          refuse("post_processor, special_tokens", "ids of tokens", shown(one));
        (is_behind ? parts_.after : parts_.before).push_back(static_cast<std::int32_t>(token));
      }
    }
    if (!is_behind) refuse("post_processor, single", "one Sequence, A", "none");
  }

  Parts parts_{};
  std::unordered_map<std::string, std::uint32_t> ids_{};  // by the text in the file
  bool has_bytes_ = false, has_frame_ = false;
};

}  // namespace regimen::data::bpe
// SPDX-License-Identifier: Apache-2.0
