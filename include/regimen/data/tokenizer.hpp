// regimen/data/tokenizer.hpp — text to tokens and back: byte-level byte-pair encoding.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/data/tokenizer/model.hpp>
#include <regimen/data/tokenizer/read_json.hpp>
#include <regimen/data/tokenizer/write_json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data {

struct TokenizerOptions {
  bool text_is_nfc = false;  // a file that asks for the form NFC is read: every text has it already
};

/// How the text of a special token (`<|endoftext|>`) in a text is treated.
enum class Specials { AsText, Recognize, Refuse };

struct EncodeOptions {
  Specials specials = Specials::AsText;
  bool frame = false;                        // with what the file puts before and behind a text
  int threads = 1;                           // 0: as thread_count() says
  std::size_t block = std::size_t{1} << 20;  // bytes that a thread takes at a time
};

/// A vocabulary, and the ids of texts in it. Copies share everything.
///
///   Tokenizer("tokenizer.json")                              of Hugging Face
///   Tokenizer::tiktoken("cl100k_base.tiktoken", patterns::cl100k, {{"<|endoftext|>", 100257}})
///   Tokenizer::gpt2("vocab.json", "merges.txt")
///   train_tokenizer(texts, options)                          data/train_tokenizer.hpp
///
///   encode(text)        ids: those of tokenizers and tiktoken, for any number of threads
///   decode(ids)         the bytes again: decode(encode(x)) == x for any bytes x, unless the file says that the pattern
///                       drops parts, or a space comes before each text
///   save(path)          tokenizer.json, which tokenizers reads; it asks for the form NFC if the file that was read did
///
/// tokenizer.json  model BPE over bytes, with ignore_merges; merges as texts or pairs; pre_tokenizer ByteLevel, or a
///                 Sequence of Split (Isolated; Removed with invert), Digits and, last, ByteLevel; added tokens;
///                 post_processor ByteLevel and TemplateProcessing (for `frame`). Everything else that would change
///                 ids is refused by name: normalizers, dropout, prefixes, lstrip, rstrip, single_word, truncation,
///                 padding, other models
/// patterns        matched by PCRE2, with Unicode's classes of its version; `^`, `\w`, `\b`, nested sets and others,
///                 which PCRE2 understands in another way, are refused by name. Characters that Unicode gained since
///                 are in no class
/// not UTF-8       bytes between valid characters are words of their own; replace_invalid_utf8 replaces them as Python
///                 does
/// added tokens    special ones are found only under Specials::Recognize; all others are always found
/// limits          2^21 - 2 tokens, 2^22 - 2 merges, files of 512 MiB
/// failure         Error for files that are damaged or need an unsupported setting; from encode() for a byte that no
///                 token has, and for specials under Specials::Refuse; from decode() for an id without a token
/// cost            tables of about 100 bytes a token; each thread that encodes at the same time keeps 2 MiB
/// threads         const members may be called from several threads
class Tokenizer final {
 public:
  using Sink = std::function<void(std::span<const std::int32_t>)>;

  explicit Tokenizer(const std::string& path, const TokenizerOptions& options = {})
      : Tokenizer(from_string(bpe::text_of(MappedFile(path), path), options, path)) {}

  /// tokenizer.json from memory; errors show `name` in place of the path.
  static Tokenizer from_string(std::string_view text, const TokenizerOptions& options = {},
                               const std::string& name = "tokenizer.json") {
    return Tokenizer(bpe::JsonReader(name).tokenizer(text, options.text_is_nfc));
  }
  static Tokenizer tiktoken(const std::string& path, const std::string& pattern, const bpe::SpecialIds& specials = {}) {
    const MappedFile file(path);
    return Tokenizer(bpe::read_tiktoken(bpe::text_of(file, path), path, pattern, specials));
  }
  /// `specials` are tokens of the vocabulary.
  static Tokenizer gpt2(const std::string& vocabulary, const std::string& merges,
                        const std::vector<std::string>& specials = {"<|endoftext|>"}) {
    const MappedFile first(vocabulary), second(merges);
    bpe::Parts parts =
        bpe::JsonReader(vocabulary)
            .vocabulary_and_merges(bpe::text_of(first, vocabulary), bpe::text_of(second, merges), merges);
    for (const std::string& special : specials) {
      const auto found = std::find_if(parts.tokens.begin(), parts.tokens.end(), [&](const bpe::Token& token) {
        return token.kind != bpe::Token::Absent && token.bytes == special;
      });
      if (special.empty() || found == parts.tokens.end())
        throw Error(vocabulary, "the special token '" + special + "'", "none", "name those that the vocabulary has");
      found->special = true;
      parts.added.push_back({.content = special, .id = static_cast<std::int32_t>(found - parts.tokens.begin())});
    }
    return Tokenizer(std::move(parts));
  }
  explicit Tokenizer(bpe::Parts parts) : state_(std::make_shared<State>(std::move(parts))) {}

  const std::string& name() const& { return parts().name; }
  std::string name() const&& { return name(); }
  /// The number of ids: one more than the largest id.
  std::size_t vocabulary() const { return parts().tokens.size(); }
  /// The bytes of a token; for a special token its text.
  std::string_view token(std::int32_t id) const& { return known(id).bytes; }
  std::string token(std::int32_t id) const&& { return std::string(token(id)); }
  bool is_special(std::int32_t id) const { return known(id).special; }
  /// The id of a special or other added token by its text, or of a token by its bytes.
  std::optional<std::int32_t> find(std::string_view token) const {
    for (const bpe::AddedToken& added : parts().added)
      if (added.content == token) return added.id;
    const std::int32_t id = state_->model.merges.find(token);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  /// The tokens that `frame` puts before and after a text.
  std::span<const std::int32_t> before() const& { return parts().before; }
  std::vector<std::int32_t> before() const&& { return parts().before; }
  std::span<const std::int32_t> behind() const& { return parts().after; }
  std::vector<std::int32_t> behind() const&& { return parts().after; }

  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const {
    std::vector<std::int32_t> all;
    Run run(*state_, options, all, nullptr);
    run.text(text);
    return all;
  }
  /// Encodes a text in pieces, if the ids shall not all be in memory: calls sink(ids) again and again, in order.
  void encode(std::string_view text, const EncodeOptions& options, const Sink& sink) const {
    std::vector<std::int32_t> some;
    Run run(*state_, options, some, &sink);
    run.text(text);
    if (!some.empty()) sink(some);
  }
  /// The ids of each text; threads take whole texts.
  std::vector<std::vector<std::int32_t>> encode_all(std::span<const std::string_view> texts,
                                                    EncodeOptions options = {}) const {
    std::vector<std::vector<std::int32_t>> all(texts.size());
    const std::size_t threads = count_of(options);
    options.threads = 1;
    detail::on_threads(texts.size(), threads, [&](std::size_t, std::size_t i) { all[i] = encode(texts[i], options); });
    return all;
  }

  /// The bytes of the tokens, without special tokens if `specials` is false. They are UTF-8 if the tokens end where
  /// characters do.
  std::string decode(std::span<const std::int32_t> ids, bool specials = true) const {
    std::string text;
    for (const std::int32_t id : ids)
      if (const bpe::Token& token = known(id); specials || !token.special) text += token.bytes;
    return text;
  }

  /// Writes tokenizer.json; a vocabulary that came from tiktoken has no merges to write, and is refused.
  void save(const std::string& path) const { regimen::detail::write_text(path, bpe::write_json(parts())); }

 private:
  struct State {
    explicit State(bpe::Parts parts) : model(std::move(parts)), encoders(model) {}
    bpe::Model model;
    bpe::Encoders encoders;
  };

  static std::size_t count_of(const EncodeOptions& options) {
    return static_cast<std::size_t>(options.threads > 0 ? options.threads : regimen::thread_count());
  }

  /// One call of encode.
  class Run {
   public:
    Run(State& state, const EncodeOptions& options, std::vector<std::int32_t>& ids, const Sink* sink)
        : state_(state), model_(state.model), options_(options), ids_(ids), sink_(sink) {
      if (options.block == 0) throw Error("EncodeOptions, block", "at least 1 byte", "0");
      lease();
    }
    void text(std::string_view text) {
      if (options_.frame) ids_.insert(ids_.end(), model_.parts.before.begin(), model_.parts.before.end());
      between(model_.first_added, text, [&](std::string_view part) {
        between(model_.later_added, part, [&](std::string_view plain) { words(plain); });
      });
      if (options_.frame) ids_.insert(ids_.end(), model_.parts.after.begin(), model_.parts.after.end());
    }

   private:
    bpe::Encoder& encoder() { return *encoders_[0]; }
    void lease() { encoders_.push_back(state_.encoders.lease()); }

    /// Calls plain(part) for what lies between added tokens.
    template <class Plain>
    void between(const bpe::AddedTokens& tokens, std::string_view text, const Plain& plain) {
      std::size_t at = 0, begin = 0, end = 0;
      while (const bpe::AddedToken* const token = tokens.find(text, end, begin)) {
        end = begin + token->content.size();
        if (token->special && options_.specials == Specials::Refuse)
          throw Error("text", "no text of a special token", "'" + token->content + "'",
                      "take it out, or choose Specials::AsText or Specials::Recognize");
        if (token->special && options_.specials == Specials::AsText) continue;
        if (begin > at) plain(text.substr(at, begin - at));
        ids_.push_back(token->id);
        at = end;
      }
      if (at < text.size()) plain(text.substr(at));
    }

    void words(std::string_view text) {
      if (model_.parts.prefix_space && !text.starts_with(' ')) return runs(" " + std::string(text));
      runs(text);
    }
    void runs(std::string_view text) {
      bpe::for_each_part(
          text, [&](std::string_view valid) { run(valid); },
          [&](std::string_view other) { encoder().word(other, ids_); });
    }
    /// Valid UTF-8.
    void run(std::string_view text) {
      if (count_of(options_) > 1 && text.size() > options_.block && encoder().cutter().cuts()) {
        while (encoders_.size() < count_of(options_) && encoders_.size() * options_.block < text.size()) lease();
        bpe::ParallelCut cut(encoders_, text, options_.block);
        for (std::size_t at = 0; at < text.size();)
          at = cut.round(at, [&](const std::vector<std::int32_t>& some) {
            ids_.insert(ids_.end(), some.begin(), some.end());
            drain();
          });
        return;
      }
      for (std::size_t at = 0; at < text.size(); drain())
        at = encoder().encode(text, at, at + (std::min)(options_.block, text.size() - at), ids_);
    }
    void drain() {
      if (sink_ == nullptr || ids_.size() < std::size_t{1} << 16) return;
      (*sink_)(ids_);
      ids_.clear();
    }

    State& state_;
    const bpe::Model& model_;
    const EncodeOptions& options_;
    std::vector<std::int32_t>& ids_;
    const Sink* sink_;
    std::vector<bpe::Encoders::Lease> encoders_{};
  };

  const bpe::Parts& parts() const { return state_->model.parts; }
  const bpe::Token& known(std::int32_t id) const {
    const auto& tokens = parts().tokens;
    if (id < 0 || static_cast<std::size_t>(id) >= tokens.size() ||
        tokens[static_cast<std::size_t>(id)].kind == bpe::Token::Absent)
      throw Error(name() + ", token to decode", "an id with a token, below " + std::to_string(tokens.size()),
                  std::to_string(id));
    return tokens[static_cast<std::size_t>(id)];
  }

  std::shared_ptr<State> state_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
