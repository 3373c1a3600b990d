// Text as tokens: alphabet, windows, blocks, splits, and what is refused.
#include <regimen/data/text.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace regimen;
using test::error_of;
using test::says;

static_assert(Source<Text, std::int32_t, std::int32_t>);
static_assert(!Source<Text, float, std::int32_t>);

namespace {

struct Window {
  std::vector<std::int32_t> input, target;
};

template <class S>
Window window(const S& source, std::size_t index, std::size_t extent) {
  Window result{std::vector<std::int32_t>(extent), std::vector<std::int32_t>(extent)};
  source.read(index, Sample<std::int32_t, std::int32_t>{result.input, result.target});
  return result;
}

}  // namespace

TEST_CASE("characters are numbered in sorted order and decode back") {
  const Text text = Text::from_string("hello world", Text::Characters);
  REQUIRE(text.alphabet() == " dehlorw");
  REQUIRE(text.vocabulary() == 8);
  const std::vector<std::int32_t> ids = text.encode("hold");
  REQUIRE(ids == std::vector<std::int32_t>{3, 5, 4, 1});
  REQUIRE(text.decode(ids) == "hold");
  REQUIRE(text[0] == 3);
  REQUIRE(says(error_of([&] { (void)text.encode("hex"); }), "byte 120"));
  REQUIRE(says(error_of([&] { (void)text.decode(std::vector<std::int32_t>{8}); }), "an id below 8"));
  REQUIRE(says(error_of([&] { (void)text.decode(std::vector<std::int32_t>{-1}); }), "found -1"));
}

TEST_CASE("bytes stand for themselves, also above 127") {
  const Text text = Text::from_string("\xC3\xA9\xFF");
  REQUIRE(text.vocabulary() == 256);
  REQUIRE(window(text, 0, 2).input == std::vector<std::int32_t>{0xC3, 0xA9});
  REQUIRE(window(text, 0, 2).target == std::vector<std::int32_t>{0xA9, 0xFF});
  REQUIRE(text.decode(text.encode("\xFE\x01")) == "\xFE\x01");
  REQUIRE(Text::from_string("\xC3\xA9", Text::Characters).vocabulary() == 2);
}

TEST_CASE("overlapping windows: N - T of them, targets one ahead") {
  const Text text = Text::from_string("abcdef");
  REQUIRE(text.size({.input = 2, .target = 2, .vocabulary_or_classes = 256}) == 4);
  REQUIRE(text.size({.input = 5, .target = 5}) == 1);
  REQUIRE(text.decode(window(text, 3, 2).input) == "de");
  REQUIRE(text.decode(window(text, 3, 2).target) == "ef");
  REQUIRE(says(error_of([&] { window(text, 4, 2); }), "a sample below 4"));
}

TEST_CASE("blocks meet each target exactly once, for every length and extent") {
  for (std::size_t length = 2; length < 40; ++length) {
    std::string letters;
    for (std::size_t i = 0; i < length; ++i) letters.push_back(static_cast<char>(i + 1));
    const Text blocks = Text::from_string(letters).blocks();
    for (std::size_t extent = 1; extent < length; ++extent) {
      INFO("length " << length << ", extent " << extent);
      std::vector<int> met(length + 1);
      const std::size_t size = blocks.size({.input = extent, .target = extent});
      REQUIRE(size == (length - 1 + extent - 1) / extent);
      for (std::size_t i = 0; i < size; ++i) {
        const Window sample = window(blocks, i, extent);
        for (std::size_t k = 0; k < extent; ++k) {
          if (sample.target[k] == ignore_index) continue;
          REQUIRE(sample.target[k] == sample.input[k] + 1);
          ++met[static_cast<std::size_t>(sample.target[k])];
        }
      }
      REQUIRE(met[1] == 0);
      for (std::size_t token = 2; token <= length; ++token) REQUIRE(met[token] == 1);
    }
  }
}

TEST_CASE("a split shares the text and keeps its alphabet") {
  const Text text = Text::from_string("abcdefghij", Text::Characters);
  const auto [train, validation] = text.split(0.75);
  REQUIRE(train.length() == 7);
  REQUIRE(validation.length() == 3);
  REQUIRE(validation.vocabulary() == 10);
  REQUIRE(text.decode(window(validation, 0, 2).target) == "ij");
  REQUIRE(text.decode(window(train, 5, 1).target) == "g");
  REQUIRE(validation.blocks().split(0.5).train.length() == 1);
  for (const double fraction : {0.0, 1.0, -1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    REQUIRE(says(error_of([&] { (void)text.split(fraction); }), "text, split: expected a fraction between 0 and 1"));
  }
}

TEST_CASE("text that cannot serve is refused by name") {
  const test::Directory directory;
  const std::string path = directory / "words.txt";
  REQUIRE(says(error_of([&] { Text{path}; }),
               path + ": expected a file that can be read, found No such file or directory"));
  test::put(path, std::string_view());
  REQUIRE(says(error_of([&] { Text{path}; }), path + ": expected text, found an empty file"));
  REQUIRE(says(error_of([&] { Text{directory.path()}; }), "found a directory"));
  test::put(path, std::string_view("abcd"));
  const Text text(path);
  REQUIRE(text.size({.input = 3, .target = 3}) == 1);
  REQUIRE(says(error_of([&] { (void)text.size({.input = 4, .target = 4}); }), path + ": expected more than 4 tokens"));
  REQUIRE(says(error_of([&] { (void)text.size({.input = 2, .target = 1}); }), "2 inputs and 1 target;"));
  REQUIRE(
      says(error_of([&] { (void)text.size({.input = 2, .target = 2, .vocabulary_or_classes = 65}); }), "ids below 65"));
  REQUIRE(says(
      error_of([&] { (void)text.size({.input = 2, .target = 2, .vocabulary_or_classes = 65}); }),
      "found ids up to 255, since a token is a byte; give the model 256, or number the characters that the text has (Text::Characters)"));
  REQUIRE(says(
      error_of([&] { (void)Text(path, Text::Characters).size({.input = 2, .target = 2, .vocabulary_or_classes = 3}); }),
      "found ids up to 3; give the model 4, or other data"));
  REQUIRE(says(error_of([&] { (void)text.split(0.5).train.size({.input = 2, .target = 2}); }), "more than 2 tokens"));
  REQUIRE(says(error_of([&] { (void)text.split(0.25).train.size({.input = 1, .target = 1}); }),
               "more than 1 token, the length of the model's input, found 1 token;"));
  REQUIRE(says(error_of([&] { (void)text.size({}); }), path));
}

TEST_CASE("tiny Shakespeare has 65 characters") {
  const std::string directory = test::real_data("tinyshakespeare.txt");
  if (directory.empty()) return;
  const Text text(directory + "tinyshakespeare.txt", Text::Characters);
  REQUIRE(text.vocabulary() == 65);
  REQUIRE(text.length() == 1'115'394);
  REQUIRE(text.alphabet().substr(0, 6) == "\n !$&'");
  const auto [train, validation] = text.split(0.9);
  REQUIRE(train.length() == 1'003'854);
  REQUIRE(validation.length() == 111'540);
  REQUIRE(validation.blocks().size({.input = 64, .target = 64, .vocabulary_or_classes = 65}) == 1743);
  REQUIRE(text.decode(window(text, 0, 13).input) == "First Citizen");
}
