// Files of tokens that are written, and read again: both widths, one file or several, and nothing that the reader would refuse.
#include <regimen/data/token_file.hpp>
#include <regimen/data/token_writer.hpp>
#include <regimen/data/tokens.hpp>

#include "../temporary.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

using namespace regimen;
using data::TokenShards;
using data::TokenWriter;

namespace {
template <class File>
std::vector<std::int32_t> read(const File& file) {
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < file.length(); ++i) all.push_back(file[i]);
  return all;
}

std::vector<std::string> names(const test::Directory& directory) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}
/// All samples of a source, and of its blocks.
template <class File>
std::vector<std::int32_t> samples(const File& file) {
  std::vector<std::int32_t> all;
  for (const File& windows : {file, file.blocks()})
    for (std::size_t i = 0; i < windows.size({.input = 5, .target = 5}); ++i) {
      std::int32_t input[5], target[5];
      windows.read(i, Sample<std::int32_t, std::int32_t>{input, target});
      all.insert(all.end(), input, input + 5);
      all.insert(all.end(), target, target + 5);
    }
  return all;
}
template <class File>
std::vector<std::vector<std::int32_t>> documents(const File& file) {
  const data::TokenDocuments all(file, 7, data::Separator::Ends);
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t i = 0; i < all.size(); ++i) rows.push_back(all.at({.index = i}));
  return rows;
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

TEST_CASE("shards are one stream: the samples and documents of one file, wherever it is cut") {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < 103; ++i) tokens.push_back(static_cast<std::int32_t>(i % 11 == 4 ? 7 : 100 + i % 29));
  for (const auto& [vocabulary, layout] :
       {std::pair{std::size_t{200}, TokenWriter::Auto}, std::pair{std::size_t{70000}, TokenWriter::Auto},
        std::pair{std::size_t{200}, TokenWriter::Raw}}) {
    const test::Directory directory;
    TokenWriter writer(directory / "whole", vocabulary, layout);
    writer.write(tokens);
    writer.commit();
    const TokenFile whole(directory / "whole");
    for (const std::size_t per_shard : {1u, 15u, 16u, 50u, 102u, 103u, 104u}) {  // documents end at 5, 16, 27, ...
      const std::size_t count = (tokens.size() + per_shard - 1) / per_shard;
      INFO(vocabulary << ", " << per_shard << " a shard");
      TokenShards shards(directory / "part", vocabulary,
                         {.tokens = per_shard, .layout = layout, .there = TokenShards::Replace});
      shards.write(std::span(tokens).first(40));
      shards.write({});
      shards.write(std::span(tokens).subspan(40));
      CHECK((shards.count() == tokens.size() && shards.shards() == count));
      shards.commit();
      REQUIRE(TokenShards::found(directory / "part").size() == count);  // none of the last turn
      CHECK(directory.files() == count + 1);
      const data::TokenFiles parts(directory / "part-*.bin");
      CHECK(read(parts) == tokens);
      CHECK(samples(parts) == samples(whole));
      CHECK(documents(parts) == documents(whole));
      const TokenFile first(TokenShards::found(directory / "part").front());
      CHECK(first.length() == std::min(per_shard, tokens.size()));
    }
  }
}

TEST_CASE("shards appear together, and replace others only if they may") {
  const test::Directory directory;
  const std::vector<std::int32_t> tokens{1, 2, 3, 4, 5};
  const std::string prefix = directory / "a";
  const auto write = [&](std::size_t per_shard, TokenShards::There there) {
    TokenShards shards(prefix, 10, {.tokens = per_shard, .there = there});
    shards.write(tokens);
    CHECK(names(directory).size() > 0);
    shards.commit();
  };
  {
    TokenShards unfinished(prefix, 10, {.tokens = 2});
    unfinished.write(tokens);
    CHECK(TokenShards::found(prefix).empty());
  }
  CHECK(directory.files() == 0);
  write(2, TokenShards::Refuse);
  const std::vector<std::string> three{"a-00000-of-00003.bin", "a-00001-of-00003.bin", "a-00002-of-00003.bin"};
  CHECK(names(directory) == three);
  test::refuses([&] { write(2, TokenShards::Refuse); }, "a: expected no shards yet, found ");
  test::refuses([&] { write(9, TokenShards::Refuse); }, "a-00000-of-00003.bin; replace them (--replace)");
  {
    TokenShards unfinished(prefix, 10, {.tokens = 2, .there = TokenShards::Replace});
    unfinished.write(tokens);
    const std::vector<std::int32_t> wrong{10};
    test::refuses([&] { unfinished.write(wrong); }, "expected an id below 10, found 10");
  }
  CHECK(names(directory) == three);
  CHECK(read(data::TokenFiles(directory / "a-*.bin")) == tokens);
  write(9, TokenShards::Replace);
  CHECK(names(directory) == std::vector<std::string>{"a-00000-of-00001.bin"});
  write(1, TokenShards::Replace);
  CHECK(directory.files() == 5);

  // A shard that comes while it writes stays, as do files of similar names, and what a living writer has begun.
  const test::Directory other;
  for (const char* const name : {"b.bin", "b-1.bin", "b-00001.bin", "b-00000-of-00002.tar", "b-00000-of-00002.bin.old",
                                 "bb-00000-of-00002.bin", "b-x-00000-of-00002.bin", "b-00000-of-2.bin"})
    test::put(other / name, "text");
  const std::vector<std::string> others = names(other);
  {
    TokenShards late(other / "b", 10, {.tokens = 2});
    late.write(tokens);
    test::refuses([&] { TokenShards(other / "b", 10, {.tokens = 3}); }, "to be the only writer");
    test::put(other / "b-00000-of-00002.bin", "text");
    test::refuses([&] { late.commit(); }, "expected no shards yet");
  }
  CHECK(TokenShards::found(other / "b") == std::vector{other / "b-00000-of-00002.bin"});
  CHECK(test::get(other / "b-00000-of-00002.bin").size() == 4);
  std::filesystem::remove(other / "b-00000-of-00002.bin");
  CHECK(names(other) == others);

  // What a killed writer left of more shards than there will be now.
  test::put(other / "b-00077.bin.tmp-1", "half");
  REQUIRE(::chmod((other / "b-00077.bin.tmp-1").c_str(), 01600) == 0);
  { const TokenShards shards(other / "b", 10, {.tokens = 2}); }
  CHECK(names(other) == others);
}

TEST_CASE("a file that would be too long is refused before it is, with the cure; a shard cannot be longer either") {
  const test::Directory directory;
  const std::vector<std::int32_t> tokens{1, 2, 3};
  TokenWriter writer(directory / "long.bin", 10);
  writer.write(tokens);
  const std::size_t many = std::size_t{1} << 31, bytes = (many - 3) * sizeof(std::int32_t);  // of address space alone
  void* const place = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place != MAP_FAILED) {
    const std::span<const std::int32_t> zeros(static_cast<const std::int32_t*>(place), many - 3);
    test::refuses(
        [&] { writer.write(zeros); },
        "long.bin: expected at most 2147483647 tokens in a file with a header, found 2147483648; write several "
        "files: tokens --shard-tokens 1000000000, or data::TokenShards");
    ::munmap(place, bytes);
  }
  CHECK(writer.count() == 3);
  const auto shards = [&](std::size_t per_shard, TokenWriter::Layout layout, const std::string& name = "a") {
    TokenShards(directory / name, 10, {.tokens = per_shard, .layout = layout});
  };
  test::refuses([&] { shards(0, TokenWriter::Raw); }, "a, tokens of a shard: expected 1 to ");
  test::refuses([&] { shards(many, TokenWriter::Auto); }, "expected 1 to 2147483647, found 2147483648");
  test::refuses([&] { shards(1, TokenWriter::Auto, ""); }, "TokenShards: expected the beginning of the files' names");
  shards(many, TokenWriter::Raw);
  shards(many - 1, TokenWriter::Auto);
}
