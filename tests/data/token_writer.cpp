// Files of tokens that are written, and read again: both widths, and nothing that the reader would refuse.
#include <regimen/data/token_file.hpp>
#include <regimen/data/token_writer.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

using namespace regimen;
using data::TokenWriter;

namespace {
std::vector<std::int32_t> read(const TokenFile& file) {
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < file.length(); ++i) all.push_back(file[i]);
  return all;
}
}  // namespace

TEST_CASE("tokens are read as they were written") {
  const test::Directory directory;
  const std::string path = directory / "tokens.bin";
  for (const std::size_t vocabulary : {std::size_t{65536}, std::size_t{65537}, std::size_t{3000000}}) {
    std::vector<std::int32_t> tokens;
    for (std::size_t i = 0; i < 50000; ++i) tokens.push_back(static_cast<std::int32_t>((i * 7919) % vocabulary));
    tokens.push_back(static_cast<std::int32_t>(vocabulary - 1));
    TokenWriter writer(path, vocabulary);
    writer.write(std::span(tokens).first(20000));
    writer.write(std::span(tokens).subspan(20000));
    CHECK(writer.count() == tokens.size());
    writer.commit();
    const TokenFile file(path);
    CHECK(read(file) == tokens);
    CHECK(std::filesystem::file_size(path) == 1024 + tokens.size() * (vocabulary > 65536 ? 4 : 2));
    CHECK(file.largest() == static_cast<std::int32_t>(vocabulary - 1));
    std::int32_t input[3], target[3];
    file.read(49997, Sample<std::int32_t, std::int32_t>{input, target});
    CHECK(target[2] == tokens.back());
    CHECK(input[1] == tokens[49998]);
    test::Bytes bytes = test::get(path);
    bytes.pop_back();
    test::put(path, bytes);
    test::refuses([&] { TokenFile{path}; }, "tokens in the file, as its header says");
    if (vocabulary > 65536) {
      bytes[1024 + 3] = 0xFF;  // an id that no int32 holds is none of any vocabulary
      bytes.push_back(0);
      test::put(path, bytes);
      CHECK(TokenFile(path)[0] == 0x7FFFFFFF);
      bytes[4] = 1;
      test::put(path, bytes);
      test::refuses([&] { TokenFile{path}; }, "expected version 7, tokens of 32 bits, found version 1");
    }
  }
}

TEST_CASE("a raw file has tokens alone, and what cannot be written is refused") {
  const test::Directory directory;
  const std::string path = directory / "raw.bin";
  const std::vector<std::int32_t> tokens{1, 2, 65535, 0};
  TokenWriter writer(path, 65536, TokenWriter::Raw);
  writer.write(tokens);
  writer.commit();
  CHECK(test::get(path) == test::Bytes{1, 0, 2, 0, 255, 255, 0, 0});
  CHECK(read(TokenFile(path)) == tokens);
  test::refuses([&] { TokenWriter(path, 65537, TokenWriter::Raw); }, "at most 65536 tokens in a file without a header");
  {
    TokenWriter unfinished(path, 4);
    const std::vector<std::int32_t> wrong{3, 4};
    test::refuses([&] { unfinished.write(wrong); }, "token 1: expected an id below 4, found 4");
    const std::vector<std::int32_t> negative{-1};
    test::refuses([&] { unfinished.write(negative); }, "found -1");
  }
  CHECK(read(TokenFile(path)) == tokens);  // a writer that did not commit changes nothing
  CHECK(directory.files() == 1);
}
