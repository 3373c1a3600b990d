// Files of tokens: both layouts, every truncation, every flipped bit of the header.
#include <regimen/data/token_file.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

using namespace regimen;
using test::Bytes;
using test::error_of;
using test::says;

static_assert(Source<TokenFile, std::int32_t, std::int32_t>);

namespace {

Bytes raw(const std::vector<std::uint16_t>& tokens) {
  Bytes bytes;
  for (const std::uint16_t token : tokens)
    bytes.push_back(static_cast<std::uint8_t>(token & 0xFF)), bytes.push_back(static_cast<std::uint8_t>(token >> 8));
  return bytes;
}

Bytes headed(const std::vector<std::uint16_t>& tokens, std::uint32_t magic = 20240520, std::uint32_t version = 1) {
  Bytes bytes(1024);
  const std::uint32_t words[3] = {magic, version, static_cast<std::uint32_t>(tokens.size())};
  for (std::size_t i = 0; i < 12; ++i) bytes[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)) & 0xFF);
  for (const std::uint8_t byte : raw(tokens)) bytes.push_back(byte);
  return bytes;
}

const std::vector<std::uint16_t> tokens{1, 50256, 3, 65535, 5, 6, 7};

/// Loads and reads all; returns what was read.
std::vector<std::int32_t> load(const std::string& path) {
  const TokenFile file(path);
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < file.length(); ++i) all.push_back(file[i]);
  const std::size_t size = file.size({.input = 2, .target = 2});
  std::int32_t input[2], target[2];
  for (std::size_t i = 0; i < size; ++i) {
    file.read(i, Sample<std::int32_t, std::int32_t>{input, target});
    REQUIRE(input[1] == target[0]);
  }
  return all;
}

}  // namespace

TEST_CASE("both layouts hold the same tokens") {
  const test::Directory directory;
  const std::vector<std::int32_t> expected(tokens.begin(), tokens.end());
  for (const Bytes& bytes : {raw(tokens), headed(tokens)}) {
    const std::string path = directory / "train.bin";
    test::put(path, bytes);
    REQUIRE(load(path) == expected);
    const TokenFile file(path);
    REQUIRE(file.name() == path);
    REQUIRE(file.largest() == 65535);
    REQUIRE(file.size({.input = 3, .target = 3}) == 4);
    REQUIRE(file.blocks().size({.input = 3, .target = 3}) == 2);
    const auto [train, validation] = file.split(0.5);
    REQUIRE(train.length() == 3);
    REQUIRE(validation[0] == 65535);
    REQUIRE(train.largest() == 50256);
  }
}

TEST_CASE("a raw file that begins with zeros is opened as raw when told so") {
  const test::Directory directory;
  const std::string path = directory / "zeros.bin";
  test::put(path, raw(std::vector<std::uint16_t>(600)));
  REQUIRE(says(error_of([&] { TokenFile{path}; }), "TokenFile::Raw"));
  REQUIRE(TokenFile(path, TokenFile::Raw).length() == 600);
}

TEST_CASE("bare tokens of 32 bits are read when told so, and are not taken for twice as many of 16") {
  const test::Directory directory;
  const std::string path = directory / "wide.bin";
  const auto put = [&](std::size_t count, std::uint32_t below) {
    Bytes bytes;
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < 4; ++k)
        bytes.push_back(static_cast<std::uint8_t>(47318 * (i + 1) % below >> 8 * k & 0xFF));
    test::put(path, bytes);
  };
  for (const std::uint32_t vocabulary : {100'000u, 60'000u, 500'000u, 300u}) {
    put(4000, vocabulary);
    test::refuses([&] { TokenFile{path}; },
                  "wide.bin: expected tokens of 16 bits, found numbers of which every second is small");
    const TokenFile file(path, TokenFile::Raw32);
    REQUIRE(file.length() == 4000);
    for (std::uint32_t i = 0; i < 4000; ++i)
      REQUIRE(file[i] == static_cast<std::int32_t>(47318 * (i + 1) % vocabulary));
    CHECK(file.size({.input = 3, .target = 3}) == 3997);
    CHECK(TokenFile(path, TokenFile::Raw).length() == 8000);
  }
  Bytes filled;  // every fourth is -1
  for (std::uint32_t i = 0; i < 4000; ++i)
    for (std::size_t k = 0; k < 4; ++k)
      filled.push_back(static_cast<std::uint8_t>((i % 4 == 3 ? ~0u : 47318 * (i + 1) % 100'000) >> 8 * k & 0xFF));
  test::put(path, filled);
  test::refuses([&] { TokenFile{path}; },
                "wide.bin: expected tokens of 16 bits, found numbers of which every second is small");
  test::put(path, Bytes(18));
  test::refuses([&] { TokenFile(path, TokenFile::Raw32); }, "expected bytes in fours, four a token, found 18");
  // Small numbers alone, few of them, and text that is what it seems are no tokens of 32 bits.
  put(4000, 8);
  CHECK(TokenFile(path).length() == 8000);
  put(15, 100'000);
  CHECK(TokenFile(path).length() == 30);
  std::vector<std::uint16_t> text(4000);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint16_t>(i * 7919 % 65);
  test::put(path, raw(text));
  CHECK(TokenFile(path).length() == 4000);
}

TEST_CASE("a truncated token file is refused, or shorter by whole tokens where nothing tells") {
  const test::Directory directory;
  const std::string path = directory / "cut.bin";
  for (const bool with_header : {false, true}) {
    const Bytes whole = with_header ? headed(tokens) : raw(tokens);
    for (std::size_t length = 0; length < whole.size(); length += length < 40 || length > 1000 ? 1 : 31) {
      INFO("header " << with_header << ", length " << length);
      test::put(path, std::span(whole).first(length));
      std::vector<std::int32_t> found;
      const std::string error = error_of([&] { found = load(path); });
      if (error.empty()) {
        REQUIRE_FALSE(with_header);
        REQUIRE(length % 2 == 0);
        REQUIRE(found ==
                std::vector<std::int32_t>(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length / 2)));
      } else {
        REQUIRE(says(error, path));
      }
    }
  }
}

TEST_CASE("a flipped bit of the header is refused, or changes nothing") {
  const test::Directory directory;
  const std::string path = directory / "flip.bin";
  const Bytes whole = headed(tokens);
  const std::vector<std::int32_t> expected(tokens.begin(), tokens.end());
  for (std::size_t bit = 0; bit < 1024 * 8; bit += bit < 12 * 8 ? 1 : 37) {  // all of the words that mean something
    INFO("bit " << bit);
    Bytes bytes = whole;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    test::put(path, bytes);
    std::vector<std::int32_t> found;
    const std::string error = error_of([&] { found = load(path); });
    if (error.empty()) REQUIRE(found == expected);
    else REQUIRE(says(error, path));
    REQUIRE(error.empty() == (bit >= 12 * 8));
  }
}

TEST_CASE("headers that claim what is not there are refused with the cause") {
  const test::Directory directory;
  const std::string path = directory / "claims.bin";
  const auto refusal = [&](const Bytes& bytes) {
    test::put(path, bytes);
    return error_of([&] { TokenFile{path}; });
  };
  REQUIRE(says(refusal({}), path + ": expected tokens, found an empty file"));
  REQUIRE(says(refusal({1, 2, 3}), path + ": expected an even number of bytes"));
  REQUIRE(
      says(refusal(headed(tokens, 20240521)), path + ", header: expected the magic number 20240520, found 20240521"));
  REQUIRE(says(refusal(headed(tokens, 20240520, 7)), "found version 7"));
  Bytes huge = headed(tokens);
  huge[8] = huge[9] = huge[10] = 0xFF, huge[11] = 0x7F;
  REQUIRE(says(refusal(huge), "expected 2147483647 tokens in the file, as its header says, found 7"));
  huge[11] = 0xFF;
  REQUIRE(says(refusal(huge), "expected -1 tokens"));
  REQUIRE(says(error_of([&] { TokenFile{directory / "none.bin"}; }), "No such file"));
  test::put(path, raw({1, 2}));
  REQUIRE(says(error_of([&] { (void)TokenFile(path).size({.input = 2, .target = 2}); }),
               path + ": expected more than 2 tokens"));
}
