// JSON: what JsonReader and append_json say, beside nlohmann's library.
#include <regimen/core/json.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <random>
#include <string>

namespace {

using nlohmann::json;
using regimen::detail::append_json;
using regimen::detail::JsonReader;

json tree(JsonReader& reader) {
  using Kind = JsonReader::Kind;
  const JsonReader::Value value = reader.value();
  json result;
  switch (value.kind) {
    case Kind::object:
      result = json::object();
      for (std::string key; reader.key(key);) result[key] = tree(reader);
      return result;
    case Kind::array:
      result = json::array();
      while (reader.element()) result.push_back(tree(reader));
      return result;
    case Kind::text:
      return value.text;
    case Kind::whole:
      return value.whole;
    case Kind::number:
      return json::parse(value.text);
    case Kind::truth:
      return value.text == "true";
    default:
      return nullptr;
  }
}

/// Nothing for a text that is no JSON.
std::optional<json> ours(const std::string& text) {
  try {
    JsonReader reader("text", text, "mend it");
    std::optional<json> whole = tree(reader);
    reader.end();
    return whole;
  } catch (const regimen::Error& error) {
    REQUIRE(std::string(error.what()).starts_with("text: expected well-formed JSON, found "));
    return {};
  } catch (const json::out_of_range&) { return {}; }
}

/// Whether both say the same. Theirs takes a zero byte for the end of the text, and refuses numbers that no double holds.
bool agree(const std::string& text) {
  try {
    const std::optional<json> own = ours(text);
    if (text.find('\0') != std::string::npos) return !own;
    const json theirs = json::parse(text);
    return own && own->dump() == theirs.dump();
  } catch (const json::out_of_range&) { return true; } catch (const json::parse_error&) {
    return !ours(text);
  }
}

}  // namespace

TEST_CASE("each piece of JSON's grammar, and what is beside it, is read as by another library") {
  for (const char* text : {"",
                           " ",
                           "{}",
                           "[]",
                           " [ ] ",
                           "{\"a\":1}",
                           "{\"a\" : [1 , {}]}\r\n\t",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\":1,}",
                           "{,}",
                           "{\"a\"}",
                           "{a:1}",
                           "{1:1}",
                           "{\"a\":1 \"b\":2}",
                           "[}",
                           "{]",
                           "[[]",
                           "]",
                           "1 1",
                           "{} {}",
                           "null",
                           "nul",
                           "nulls",
                           "true",
                           "false",
                           "True",
                           "\"",
                           "\"a",
                           "'a'",
                           "0",
                           "-0",
                           "-",
                           "00",
                           "01",
                           "-01",
                           "1.",
                           "1.0",
                           ".5",
                           "-.5",
                           "1e5",
                           "1E+5",
                           "1e-5",
                           "1e",
                           "1e+",
                           "+1",
                           "0x1",
                           "1.5e300",
                           "18446744073709551615",
                           "18446744073709551616",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "NaN",
                           "Infinity",
                           "// no\n1",
                           "/* no */ 1",
                           "\xEF\xBB\xBF{}",
                           "\xEF\xBB{}",
                           " \xEF\xBB\xBF{}",
                           "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                           "\"\\a\"",
                           "\"\\",
                           "\"\\u",
                           "\"\\u00e9\"",
                           "\"\\u00E9\"",
                           "\"\\u00g9\"",
                           "\"\\u12\"",
                           "\"\\u0000\"",
                           "\"\\ud83d\\ude00\"",
                           "\"\\ud83d\"",
                           "\"\\ud83dx\"",
                           "\"\\ud83d\\n\"",
                           "\"\\ud83d\\u0041\"",
                           "\"\\ude00\"",
                           "\"\\uffff\"",
                           "\"\\u07ff\\u0800\"",
                           "\"\x7F\"",
                           "\"\x1F\"",
                           "\"\n\"",
                           "\"\xC3\xA9\"",
                           "\"\xE2\x82\xAC\"",
                           "\"\xF0\x9F\x98\x80\"",
                           "\"\x80\"",
                           "\"\xC3\"",
                           "\"\xC3\x41\"",
                           "\"\xC1\x81\"",
                           "\"\xC2\x80\"",
                           "\"\xE0\x9F\xBF\"",
                           "\"\xE0\xA0\x80\"",
                           "\"\xED\x9F\xBF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xEE\x80\x80\"",
                           "\"\xF0\x8F\xBF\xBF\"",
                           "\"\xF0\x90\x80\x80\"",
                           "\"\xF4\x8F\xBF\xBF\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"\xFF\"",
                           "\"\xE2\x82\"",
                           "\"\xF0\x9F\x98\""}) {
    INFO(text);
    CHECK(agree(text));
  }
  CHECK(ours("[18446744073709551615,\"\\ud83d\\ude00\"]") == json{18446744073709551615u, "\xF0\x9F\x98\x80"});
  CHECK(!ours(std::string("1\0", 2)));
}

TEST_CASE("damaged JSON is read, or refused, as by another library") {
  const std::string whole[] = {
      R"({"__metadata__":{"format":"pt","note":"\"q\" \u00e9 \ud83d\ude00 \\ \n"},"a.b":{"dtype":"F32","shape":[2,3],)"
      R"("data_offsets":[0,24]},"\u0000":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}}   )",
      "[-1.5e+10, 0, {\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\": [true, false, null, \"\\/\\b\\f\\r\\t\"]}, 18446744073709551616]"};
  const std::string marks("\"\\{}[]:,u0189dDeE+-.tfn \n\x1F\x7F\x80\xA0\xBF\xC3\xED\xE0\xF0\xF4\xFF", 37);  // and zero
  std::mt19937 random(17);
  std::size_t good = 0;
  for (int trial = 0; trial < 40'000; ++trial) {
    std::string text = whole[random() % 2];
    for (std::size_t damages = 1 + random() % 3; damages-- > 0;) {
      const std::size_t at = random() % text.size();
      const char mark = random() % 4 == 0 ? text[random() % text.size()] : marks[random() % marks.size()];
      switch (random() % 4) {
        case 0:
          text[at] = mark;
          break;
        case 1:
          text.insert(at, 1, mark);
          break;
        case 2:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
      }
    }
    if (!agree(text)) {
      INFO(text);
      REQUIRE(agree(text));
    }
    good += ours(text).has_value();
  }
  CHECK(good > 1000);
  CHECK(good < 39'000);
}

TEST_CASE("text is written as JSON as by another library, and what is not UTF-8 is not") {
  const std::string marks("ab\"\\/\b\f\n\r\t\0\x01\x1F\x7F\x80\xA0\xBF\xC2\xC3\xE2\x82\xAC\xED\xF0\x9F\x98\x80\xF4\x8F",
                          29);
  std::mt19937 random(19);
  std::size_t good = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string plain;
    for (std::size_t length = random() % 6; length-- > 0;) plain += marks[random() % marks.size()];
    std::string theirs, own;
    try {
      theirs = json(plain).dump();
    } catch (const json::type_error&) {}
    if (!append_json(own, plain)) own.clear();
    REQUIRE(own == theirs);
    good += !own.empty();
  }
  CHECK(good > 1000);
  CHECK(good < 19'000);
}

TEST_CASE("an error of JSON says where it is, and what must stand there") {
  const auto error = [](const char* text) -> std::string {
    try {
      JsonReader reader("file.json", text, "mend it");
      (void)tree(reader);
      reader.end();
    } catch (const regimen::Error& found) { return found.what(); }
    return "none";
  };
  CHECK(error("{\"a\":}") == "file.json: expected well-formed JSON, found } at byte 5 in place of a value; mend it");
  CHECK(error("[1") ==
        "file.json: expected well-formed JSON, found the end at byte 2 in place of a comma or ]; mend it");
  CHECK(
      error("\"\xFF\"") ==
      "file.json: expected well-formed JSON, found the byte FF at byte 1 in place of a character of a string; mend it");
}
// SPDX-License-Identifier: Apache-2.0
