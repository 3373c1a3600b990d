// regimen/data/tokenizer/write_json.hpp — a tokenizer as tokenizer.json, which Hugging Face's tokenizers reads.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/tokenizer/parts.hpp>
#include <regimen/data/tokenizer/pattern.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace regimen::data::bpe {

namespace detail {

using Json = nlohmann::ordered_json;

inline std::string text_of_token(const Parts& parts, std::size_t id) {
  const Token& token = parts.tokens[id];
  return token.kind == Token::Bytes ? to_characters(token.bytes) : token.bytes;
}

inline Json byte_level(bool prefix_space, bool cuts) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", true}, {"use_regex", cuts}};
}

inline Json added_tokens(const Parts& parts) {
  Json added = Json::array();
  for (const AddedToken& token : parts.added)
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  return added;
}

inline Json pre_tokenizer(const Parts& parts) {
  Json before_bytes = Json::array();
  const bool is_gpt2 = parts.cuts.size() == 1 && parts.cuts[0].pattern == patterns::gpt2 && !parts.cuts[0].drops_rest;
  if (!is_gpt2)
    for (const Cut& cut : parts.cuts)
      before_bytes.push_back({{"type", "Split"},
                              {"pattern", {{cut.is_literal ? "String" : "Regex", cut.pattern}}},
                              {"behavior", cut.drops_rest ? "Removed" : "Isolated"},
                              {"invert", cut.drops_rest}});
  const Json bytes = byte_level(parts.prefix_space, is_gpt2);
  if (before_bytes.empty()) return bytes;
  before_bytes.push_back(bytes);
  return {{"type", "Sequence"}, {"pretokenizers", before_bytes}};
}

inline Json post_processor(const Parts& parts) {
  if (parts.before.empty() && parts.after.empty()) return byte_level(true, true);
  Json single = Json::array(), specials = Json::object();
  const auto put = [&](std::int32_t id) {
    const std::string text = text_of_token(parts, static_cast<std::size_t>(id));
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    specials[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
  };
  for (const std::int32_t id : parts.before) put(id);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  for (const std::int32_t id : parts.after) put(id);
  Json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

inline Json byte_pairs(const Parts& parts) {
  Json vocabulary = Json::object(), merges = Json::array();
  auto& members = vocabulary.get_ref<Json::object_t&>();  // a list: no search for each of them
  for (std::size_t id = 0; id < parts.tokens.size(); ++id)
    if (parts.tokens[id].kind != Token::Absent && !parts.tokens[id].outside)
      members.Container::emplace_back(text_of_token(parts, id), id);
  for (const auto& [first, second, whole] : parts.merges)
    merges.push_back(text_of_token(parts, first) + " " + text_of_token(parts, second));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", parts.whole_words},
          {"vocab", vocabulary},
          {"merges", merges}};
}

}  // namespace detail

inline std::string write_json(const Parts& parts) {
  using detail::Json;
  if (parts.by_rank)
    throw Error(parts.name, "a vocabulary with merges, to write tokenizer.json", "one of ranks, as tiktoken has it",
                "copy its file");
  const Json root{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", detail::added_tokens(parts)},
                  {"normalizer", parts.is_nfc ? Json{{"type", "NFC"}} : Json(nullptr)},
                  {"pre_tokenizer", detail::pre_tokenizer(parts)},
                  {"post_processor", detail::post_processor(parts)},
                  {"decoder", detail::byte_level(true, true)},
                  {"model", detail::byte_pairs(parts)}};
  return root.dump(2) + "\n";
}

}  // namespace regimen::data::bpe
// SPDX-License-Identifier: Apache-2.0
