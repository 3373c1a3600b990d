// Tokenizers: the ids of tokenizers and tiktoken (recorded), the same for any number of threads, and files that are no use.
#include <regimen/data/train_tokenizer.hpp>

#include "../support/data.hpp"
#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>

using namespace regimen;
using data::EncodeOptions, data::Specials, data::Tokenizer;
using nlohmann::json;
using test::error_of;
using test::says;
using Ids = std::vector<std::int32_t>;

namespace {

std::string path_of(const std::string& name) { return support::recorded("tokenizers/" + name).string(); }
std::string text_of(const std::string& name) {
  const test::Bytes bytes = test::get(path_of(name));
  REQUIRE_FALSE(bytes.empty());
  return std::string(bytes.begin(), bytes.end());
}
json json_of(const std::string& name) { return json::parse(text_of(name)); }

/// A vocabulary of the 256 bytes, some merges, and no pattern: a text is one word.
std::string one_word(const std::vector<std::pair<std::string, std::string>>& merges) {
  json vocabulary = json::object(), list = json::array();
  for (unsigned byte = 0; byte < 256; ++byte)
    vocabulary[data::bpe::to_characters(std::string(1, static_cast<char>(byte)))] = byte;
  for (const auto& [first, second] : merges) {
    list.push_back({data::bpe::to_characters(first), data::bpe::to_characters(second)});
    vocabulary.emplace(data::bpe::to_characters(first + second), vocabulary.size());
  }
  return json{{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
              {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}}}}
      .dump();
}

}  // namespace

#if defined(REGIMEN_HAS_PCRE2)

namespace {

/// The recorded ids of each text.
void check(const Tokenizer& tokenizer, const char* key, const EncodeOptions& options = {}) {
  static const json cases = json_of("cases.json");
  for (std::size_t i = 0; i < cases["texts"].size(); ++i) {
    const auto text = cases["texts"][i].get<std::string>();
    INFO(key << ", case " << i << ": " << text);
    CHECK(tokenizer.encode(text, options) == cases[key][i].get<Ids>());
  }
}

Tokenizer small_tiktoken() {
  return Tokenizer::tiktoken(path_of("cl100k.tiktoken"), data::patterns::cl100k, {{"<|endoftext|>", 1000}});
}

/// Bytes of every kind: text, pieces of it, and what is no UTF-8.
std::string any_bytes(std::mt19937& random, std::size_t length) {
  static const std::string source = text_of("text.txt");
  std::string text;
  while (text.size() < length) {
    const std::size_t begin = random() % source.size();
    switch (random() % 6) {
      case 0:
        text += static_cast<char>(random());
        break;
      case 1:
        text.append(random() % 70, " a\n7\xE3"[random() % 5]);
        break;
      case 2:
        text += "<|endoftext|>";
        break;
      default:
        text += source.substr(begin, random() % 40);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("ids are those of tokenizers and tiktoken") {
  const EncodeOptions recognize{.specials = Specials::Recognize};
  EncodeOptions framed = recognize;
  framed.frame = true;
  const Tokenizer gpt2(path_of("gpt2.json"));
  check(gpt2, "gpt2", recognize);
  check(gpt2, "gpt2_as_text");
  check(Tokenizer::gpt2(path_of("gpt2-vocab.json"), path_of("gpt2-merges.txt")), "gpt2", recognize);
  json spaced = json_of("gpt2.json");
  spaced["pre_tokenizer"]["add_prefix_space"] = true;
  check(Tokenizer::from_string(spaced.dump()), "gpt2_prefix_space");
  const Tokenizer llama3(path_of("llama3.json"));
  check(llama3, "llama3", framed);
  check(llama3, "llama3_as_text");
  check(Tokenizer(path_of("digits.json")), "digits", recognize);
  check(small_tiktoken(), "tiktoken", recognize);
  check(small_tiktoken(), "tiktoken_as_text");
}

TEST_CASE("what is saved gives the same ids") {
  const test::Directory directory;
  const std::string path = directory / "tokenizer.json";
  EncodeOptions framed{.specials = Specials::Recognize, .frame = true};
  Tokenizer(path_of("llama3.json")).save(path);
  check(Tokenizer(path), "llama3", framed);
  framed.frame = false;
  Tokenizer(path_of("gpt2.json")).save(path);
  check(Tokenizer(path), "gpt2", framed);
  Tokenizer(path_of("digits.json")).save(path);
  check(Tokenizer(path), "digits", framed);
  const auto normalizer = [&] {
    const test::Bytes bytes = test::get(path);
    return json::parse(bytes.begin(), bytes.end()).at("normalizer");
  };
  CHECK(normalizer().is_null());
  json asks = json::parse(one_word({{"a", "b"}}));
  asks["normalizer"] = {{"type", "NFC"}};
  Tokenizer::from_string(asks.dump(), {.text_is_nfc = true}).save(path);
  CHECK(normalizer() == json{{"type", "NFC"}});
  test::refuses([&] { Tokenizer{path}; }, "text_is_nfc");
  CHECK(Tokenizer(path, {.text_is_nfc = true}).encode("ab") ==
        Tokenizer::from_string(one_word({{"a", "b"}})).encode("ab"));
  test::refuses([&] { small_tiktoken().save(path); }, "expected a vocabulary with merges");
}

TEST_CASE("training gives the vocabulary that tokenizers trains") {
  const std::string text = text_of("text.txt");
  const std::vector<std::string_view> texts{text};
  const test::Directory directory;
  for (const std::string name : {"gpt2.json", "llama3.json"}) {
    INFO(name);
    const bool is_gpt2 = name == "gpt2.json";
    data::TokenizerTraining training{.vocabulary = is_gpt2 ? 420u : 460u,
                                     .pattern = is_gpt2 ? data::patterns::gpt2 : data::patterns::llama3};
    if (is_gpt2) training.specials = {"<|endoftext|>"};
    std::size_t reports = 0;
    training.report = [&](const char*, std::size_t done, std::size_t all) {
      ++reports;
      CHECK(done <= all);
    };
    const Tokenizer trained = data::train_tokenizer(texts, training);
    CHECK(reports > 100);
    trained.save(directory / name);
    const test::Bytes saved = test::get(directory / name);
    const json mine = json::parse(saved.begin(), saved.end()), theirs = json_of(name);
    CHECK(mine["model"]["vocab"] == theirs["model"]["vocab"]);
    REQUIRE(mine["model"]["merges"].size() == theirs["model"]["merges"].size());
    for (std::size_t i = 0; i < mine["model"]["merges"].size(); ++i) {
      const json& pair = theirs["model"]["merges"][i];
      CHECK(mine["model"]["merges"][i] == pair[0].get<std::string>() + " " + pair[1].get<std::string>());
    }
    if (is_gpt2) check(Tokenizer(directory / name), "gpt2", {.specials = Specials::Recognize});
  }
  test::refuses([&] { data::train_tokenizer(texts, {.vocabulary = 255}); }, "expected 256 to 2097150, found 255");
  test::refuses([&] { data::train_tokenizer(texts, {.vocabulary = 300, .specials = {"a"}}); },
                "two characters and more, found 'a'");
  test::refuses([&] { data::train_tokenizer(texts, {.vocabulary = 300, .specials = {"<a>", "<a>"}}); },
                "different texts");
  test::refuses([&] { data::train_tokenizer(texts, {.vocabulary = 300, .pattern = "a*"}); },
                "one that does not match the empty text");
  CHECK(data::train_tokenizer({}, {.vocabulary = 300}).vocabulary() == 256);
  CHECK(data::train_tokenizer(texts, {.vocabulary = 20000, .least_count = 40}).vocabulary() < 320);
}

TEST_CASE("threads and blocks change no id, and decoding gives the bytes again") {
  std::mt19937 random(15);
  const Tokenizer all[] = {Tokenizer(path_of("gpt2.json")), Tokenizer(path_of("llama3.json")), small_tiktoken()};
  for (int round = 0; round < 14; ++round) {
    const std::string text = any_bytes(random, random() % 1200);
    for (const Tokenizer& tokenizer : all) {
      EncodeOptions options{.specials = round % 2 == 0 ? Specials::AsText : Specials::Recognize};
      const Ids expected = tokenizer.encode(text, options);
      REQUIRE(tokenizer.decode(expected) == text);
      for (const int threads : {1, 2, 5})
        for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{300}}) {
          options.threads = threads, options.block = block;
          REQUIRE(tokenizer.encode(text, options) == expected);
        }
      Ids pieces;
      tokenizer.encode(text, options, [&](std::span<const std::int32_t> some) {
        pieces.insert(pieces.end(), some.begin(), some.end());
      });
      REQUIRE(pieces == expected);
    }
  }
  // Digits in threes from another beginning never meet those of one thread.
  const std::string digits(5000, '7');
  CHECK(all[1].encode(digits, {.threads = 4, .block = 100}) == all[1].encode(digits));
  // In pieces, with bounded memory.
  std::string long_text;
  while (long_text.size() < 600000) long_text += any_bytes(random, 5000);
  Ids pieces;
  std::size_t calls = 0;
  all[0].encode(long_text, {.threads = 2, .block = 30000}, [&](std::span<const std::int32_t> some) {
    ++calls, pieces.insert(pieces.end(), some.begin(), some.end());
  });
  CHECK(pieces == all[0].encode(long_text));
  CHECK(calls > 1);
  const std::vector<std::string_view> texts{"one", "", long_text, "two 2"};
  const auto ids = all[0].encode_all(texts, {.threads = 3});
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(ids[i] == all[0].encode(texts[i]));
}

TEST_CASE("a tokenizer's own words") {
  const Tokenizer llama3(path_of("llama3.json"));
  const std::int32_t begin = llama3.find("<|begin|>").value();
  CHECK(llama3.is_special(begin));
  CHECK(llama3.token(begin) == "<|begin|>");
  CHECK(Ids(llama3.before().begin(), llama3.before().end()) == Ids{begin});
  CHECK(llama3.behind().empty());
  CHECK(llama3.token(llama3.find(" the").value()) == " the");
  CHECK_FALSE(llama3.find("no such token").has_value());
  const Ids ids = llama3.encode("<|begin|> the", {.specials = Specials::Recognize});
  CHECK(ids == Ids{begin, llama3.find(" the").value()});
  CHECK(llama3.decode(ids) == "<|begin|> the");
  CHECK(llama3.decode(ids, false) == " the");
  test::refuses([&] { llama3.decode(Ids{5, 463}); }, "expected an id with a token, below 463, found 463");
  test::refuses([&] { llama3.decode(Ids{-1}); }, "found -1");
  test::refuses([&] { llama3.encode("a <|end|>", {.specials = Specials::Refuse}); }, "found '<|end|>'");
  CHECK(data::replace_invalid_utf8("a\xFFz\xE2\x82z\xF0\x9F\x98") == "a\xEF\xBF\xBDz\xEF\xBF\xBDz\xEF\xBF\xBD");
  CHECK(data::replace_invalid_utf8("\xED\xA0\x80") ==
        "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate, as in Python
}

TEST_CASE("patterns that PCRE2 would understand in another way are refused by name") {
  using data::bpe::Dialect, data::bpe::Pattern, data::bpe::Translation;
  for (const char* const wrong : {"^a",    "a$",      "\\w+",   "\\bx",    "[[:alpha:]]", "[a&&b]", "[]a]",  "a{,3}",
                                  "a{2}+", "a{2,3}?", "(?i)a",  "(?<n>a)", "(*UTF)a",     "\\K",    "\\x41", "\\p{L",
                                  "\\pL",  "\\p{^L}", "[a--b]", "\\A",     "a{",          "[a",     "\\"}) {
    INFO(wrong);
    CHECK(says(error_of([&] { Pattern(wrong, Dialect::Tokenizers, "here"); }), "here, pattern"));
  }
  CHECK(Translation("\\s\\S[^\\s\\d]\\p{Greek}.\\v", Dialect::Tokenizers, "").take() ==
        "\\p{White_Space}\\P{White_Space}[^\\p{White_Space}\\p{Nd}]\\p{sc:Greek}[^\\n]\\x0b");
  CHECK(Translation("\\s++$|\\p{N}{1,3}+", Dialect::Tiktoken, "").take() == "\\p{White_Space}++\\z|\\p{N}{1,3}+");
  test::refuses([&] { Pattern("a)", Dialect::Tokenizers, "here"); }, "here, pattern: expected a regular expression");
  test::refuses([&] { Pattern("\\p{Klingon}", Dialect::Tokenizers, "here"); },
                "here, pattern: expected a regular expression");
  test::refuses([&] { Pattern("a|b*", Dialect::Tokenizers, "here"); }, "one that does not match the empty text");
  CHECK(data::bpe::literal_pattern("a.b \n|") == "a\\.b \n\\|");
}

#else

TEST_CASE("without PCRE2 a tokenizer with a pattern is refused with the cure") {
  test::refuses([&] { Tokenizer{path_of("gpt2.json")}; }, "install libpcre2-dev");
}

#endif

TEST_CASE("merges are made as the definition says") {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> tokens{"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    std::map<std::pair<std::string, std::string>, std::size_t> ranks;
    for (int i = 0; i < 25; ++i) {
      const std::pair pair{tokens[random() % tokens.size()], tokens[random() % tokens.size()]};
      if (pair.first.size() + pair.second.size() > 20 || !ranks.emplace(pair, merges.size()).second) continue;
      merges.push_back(pair);
      tokens.push_back(pair.first + pair.second);
    }
    json root = json::parse(one_word(merges));
    const Tokenizer tokenizer = Tokenizer::from_string(root.dump());
    for (const std::size_t length : {1u, 2u, 13u, 47u, 48u, 49u, 400u}) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) text += "abc"[random() % (1 + random() % 3)];
      std::vector<std::string> word;
      for (const char byte : text) word.emplace_back(1, byte);
      for (;;) {  // the definition: the leftmost of the lowest rank, again and again
        std::size_t best = merges.size(), where = 0;
        for (std::size_t i = 0; i + 1 < word.size(); ++i) {
          const auto found = ranks.find({word[i], word[i + 1]});
          if (found != ranks.end() && found->second < best) best = found->second, where = i;
        }
        if (best == merges.size()) break;
        word[where] += word[where + 1];
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(where) + 1);
      }
      Ids expected;
      for (const std::string& token : word) expected.push_back(root["model"]["vocab"][token].get<std::int32_t>());
      REQUIRE(tokenizer.encode(text) == expected);
      REQUIRE(tokenizer.encode(text) == expected);  // from the cache
    }
  }
}

TEST_CASE("what a tokenizer.json asks for and is not supported is refused by its name") {
  const json good = json::parse(one_word({{"a", "b"}}));
  const auto refusal = [&](const char* where, const json& value) {
    json changed = good;
    changed[json::json_pointer(where)] = value;
    return error_of([&] { Tokenizer::from_string(changed.dump()); });
  };
  const json byte_level = good["pre_tokenizer"];
  CHECK(refusal("/version", "1.0").empty());
  CHECK(says(error_of([] {  // too deep for a recursive error sentence
               Tokenizer::from_string("{\"model\":{\"type\":" + std::string(400'000, '[') + std::string(400'000, ']') +
                                      "}}");
             }),
             "found an array"));
  CHECK(says(refusal("/truncation", json::object()), "tokenizer.json, truncation: expected null"));
  CHECK(says(refusal("/padding", json::object()), "padding"));
  CHECK(says(refusal("/normalizer", {{"type", "Lowercase"}}), "normalizer: expected null, found Lowercase"));
  CHECK(says(refusal("/normalizer", {{"type", "NFC"}}), "text_is_nfc"));
  CHECK(says(refusal("/other", 1), "found 'other'"));
  CHECK(says(refusal("/model/type", "WordPiece"), "model: expected BPE, found \"WordPiece\""));
  CHECK(says(refusal("/model/dropout", 0.1), "model, dropout"));
  CHECK(refusal("/model/dropout", 0.0).empty());
  CHECK(refusal("/model/unk_token", "a").empty());  // every byte has a token
  CHECK(says(refusal("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix"));
  CHECK(says(refusal("/model/new", 1), "found 'new'"));
  CHECK(says(refusal("/model/merges/1", "a"), "merge 1: expected two tokens with a space between"));
  CHECK(says(refusal("/model/merges/1", "a xyz"), "merge 1: expected tokens of the vocabulary, found 'xyz'"));
  CHECK(says(refusal("/model/merges/1", "a c"), "found 'ac'"));
  CHECK(says(refusal("/model/merges/1", 5), "merge 1: expected two tokens, found 5"));
  CHECK(says(refusal("/model/vocab/x", -1), "expected a whole number, found -1"));
  CHECK(says(refusal("/model/vocab/xx", 97), "id 97: expected one token"));
  CHECK(says(refusal("/model/vocab/xx", 4000000), "expected an id below"));
  CHECK(says(refusal("/pre_tokenizer", {{"type", "Whitespace"}}),
             "pre_tokenizer: expected Sequence, Split, Digits and ByteLevel, found Whitespace"));
  CHECK(says(refusal("/pre_tokenizer", {{"type", "Digits"}}), "expected ByteLevel"));
  CHECK(says(refusal("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {byte_level, byte_level}}}),
             "nothing behind ByteLevel"));
  CHECK(says(refusal("/decoder", {{"type", "Metaspace"}}), "decoder: expected ByteLevel, found Metaspace"));
  CHECK(says(refusal("/post_processor", {{"type", "BertProcessing"}}), "BertProcessing"));
  CHECK(says(refusal("/post_processor",
                     {{"type", "TemplateProcessing"}, {"single", json::array()}, {"special_tokens", json::object()}}),
             "one Sequence, A"));
  // A name ends with its last character, not with a NUL: this token is not the "A" that the file has.
  CHECK(says(refusal("/post_processor",
                     {{"type", "TemplateProcessing"},
                      {"single", {{{"SpecialToken", {{"id", std::string("A\0x", 3)}}}}, {{"Sequence", {{"id", "A"}}}}}},
                      {"special_tokens", {{"A", {{"ids", {0}}}}}}}),
             "special_tokens: expected 'A\\0x', found none"));
  const json token{{"id", 257}, {"content", "<x>"}, {"special", true}};
  CHECK(refusal("/added_tokens", json::array({token})).empty());
  CHECK(says(refusal("/added_tokens", json::array({token, token})), "one entry"));
  for (const char* const strips : {"single_word", "lstrip", "rstrip"}) {
    json stripped = token;
    stripped[strips] = true;
    CHECK(says(refusal("/added_tokens", json::array({stripped})), strips));
  }
  json elsewhere = token;
  elsewhere["id"] = 300;
  CHECK(says(refusal("/added_tokens", json::array({elsewhere})), "expected 257, found 300"));
  CHECK(says(error_of([&] { Tokenizer::from_string("{\"model\": "); }), "tokenizer.json: expected JSON"));
  CHECK(says(error_of([&] { Tokenizer::from_string("[]"); }), "expected an object"));
  // A byte without a token is an error when a text has it.
  json small = good;
  small["model"]["vocab"].erase("x");
  const Tokenizer without = Tokenizer::from_string(small.dump());
  CHECK(without.encode("ab") == Ids{256});
  test::refuses([&] { without.encode("axb"); }, "none for byte 120");
  small["model"]["unk_token"] = "a";
  test::refuses([&] { Tokenizer::from_string(small.dump()); }, "unk_token");
}

// REGIMEN_MUTATIONS: how many files, instead of a few hundred.
TEST_CASE("mutated files are refused, or are tokenizers") {
  const char* const asked = std::getenv("REGIMEN_MUTATIONS");
  const long rounds = asked == nullptr ? 250 : std::atol(asked);
  const test::Directory directory;
  std::mt19937 random(7);
#if defined(REGIMEN_HAS_PCRE2)
  const std::vector<std::string> files{text_of("gpt2.json"), text_of("llama3.json"), text_of("cl100k.tiktoken"),
                                       text_of("gpt2-merges.txt")};
  const std::string recorded[] = {"", "", "", path_of("gpt2-vocab.json")};
#else
  const std::vector<std::string> files{one_word({{"a", "b"}, {"ab", "c"}})};
#endif
  const std::string path = directory / "mutated";
  test::refuses(
      [] { Tokenizer::from_string(R"({"pre_tokenizer":{},"model":{"vocab":{"\u0100":99999999},"merges":[]}})"); },
      "token '\xC4\x80': expected an id below");  // a byte 0 does not end the sentence
  const std::string probe = "Hello, wörld 123!\n\n  the end<|endoftext|> aaaaaaaaaa\xFF";
  long accepted = 0;
  for (long round = 0; round < rounds; ++round)
    for (std::size_t kind = 0; kind < files.size(); ++kind) {
      std::string text = files[kind];
      for (std::uint_fast32_t changes = 1 + random() % 3; changes-- > 0 && !text.empty();) {
        const std::size_t at = random() % text.size(), other = random() % text.size(),
                          length = std::min<std::size_t>(random() % 40, text.size() - std::max(at, other));
        switch (random() % 7) {
          case 0:
            text[at] = static_cast<char>(random());
            break;
          case 1:
            text.erase(at, length);
            break;
          case 2:
            text.insert(at, text.substr(other, length));
            break;
          case 3:
            text.resize(at + 1);
            break;
          case 4:
            text.insert(at, std::string_view("99999999999999999999").substr(random() % 20));
            break;
          case 5:
            text.insert(at, random() % 2 == 0 ? "\\u0000" : "\\u001b");
            break;
          default:
            std::swap(text[at], text[other]);
        }
      }
      const std::string error = error_of([&] {
#if defined(REGIMEN_HAS_PCRE2)
        if (kind >= 2) test::put(path, text);
        const Tokenizer tokenizer = kind < 2    ? Tokenizer::from_string(text)
                                    : kind == 2 ? Tokenizer::tiktoken(path, data::patterns::cl100k)
                                                : Tokenizer::gpt2(recorded[3], path);
#else
        const Tokenizer tokenizer = Tokenizer::from_string(text);
#endif
        ++accepted;
        tokenizer.decode(tokenizer.encode(probe, {.specials = Specials::Recognize, .frame = true}));
      });
      INFO(error);
      REQUIRE((error.empty() || (says(error, ": expected ") && says(error, ", found "))));
      REQUIRE(std::none_of(error.begin(), error.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
    }
  INFO(accepted << " of " << rounds * static_cast<long>(files.size()) << " accepted");
  CHECK(accepted > 0);
}
