// The text of an Error is one line, whatever the names in it: nothing ends it, forges a line, or commands a terminal.
#include <regimen/core/error.hpp>
#include <regimen/saves/sharded_file.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

using namespace regimen;
using namespace std::string_literals;
using test::error_of;
using test::refuses;

namespace {
void put_tensors(const std::string& path, const std::string& header) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  test::put(path, file + header + std::string(4, '\0'));
}
}  // namespace

TEST_CASE("control characters are escapes in every part of an Error, and other text is as it was") {
  CHECK(Error("a\0b"s, "c\nd", "e\x1b[31mf", "g\r\th\x7f").what() ==
        "a\\0b: expected c\\nd, found e\\x1b[31mf; g\\r\\th\\x7f"s);
  for (int byte = 0; byte < 0x20; ++byte)
    for (const char letter : std::string(Error(std::string(1, static_cast<char>(byte)), "", "").what()))
      CHECK(static_cast<unsigned char>(letter) >= 0x20);
  const std::string words =
      "Zürich, 日本, \\n, \u00a0, \U0001f600";  // letters of UTF-8, its bytes 0x80 to 0x9f among them
  CHECK(Error("", words, "").what() == ": expected " + words + ", found ");
  CHECK(Error("", "", "\u0085\u009b2J").what() ==
        ": expected , found \\x85\\x9b2J"s);  // next line; a terminal's command
  CHECK(Error("", "", "\xC2").what() == ": expected , found \xC2"s);
  const Error first("x\ny", "z", "w");
  CHECK(Error("", "", first.what()).what() == ": expected , found "s + first.what());  // escapes are not escaped again
  CHECK(Error("", "", "x", "cure", "a table\nof lines").what() == ": expected , found x; cure\na table\nof lines"s);
}

TEST_CASE("names in damaged files of weights are shown, and name no other file") {
  const test::Directory directory;
  put_tensors(directory / "x.safetensors", R"({"x\u0000y":{"dtype":"F32","shape":[9],"data_offsets":[0,4]}})");
  const auto read = [&] { safetensors::File file(directory / "x.safetensors"); };
  refuses(read, "tensor \"x\\0y\": expected ");
  refuses(read, ", found ");
  put_tensors(directory / "x.safetensors",
              R"({"x\n\u001b[31mregimen: all is well":{"dtype":"F32","shape":[9],"data_offsets":[0,4]}})");
  refuses(read, "\"x\\n\\x1b[31mregimen: all is well\"");
  put_tensors(directory / "a", R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})");
  test::put(directory / "b.index.json", R"({"metadata":{},"weight_map":{"x":"a\u0000.safetensors"}})"s);
  refuses([&] { safetensors::ShardedFile file(directory / "b.index.json"); }, "found \"a\\0.safetensors\"");
}
