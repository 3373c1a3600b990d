// Tar shards: names in every format, samples, damage.
#include <regimen/data/tar.hpp>

#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <string>
#include <vector>

using namespace regimen;
using test::error_of;
using test::refuses;
using test::says;

static_assert(data::Dataset<data::Tar>);

namespace {

std::string content(std::size_t i) {
  std::string bytes(511 + i, '\0');
  for (std::size_t j = 0; j < bytes.size(); ++j) bytes[j] = static_cast<char>((i + j) % 256);
  return bytes;
}
/// An archive of these files, in this order, without the rules of TarWriter.
void write(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files, char type = '0') {
  data::detail::FileWriter file(path);
  for (const auto& [name, bytes] : files) {
    data::detail::put_tar_header(file, name, bytes.size(), type);
    file.put(bytes + std::string((512 - bytes.size() % 512) % 512, '\0'));
  }
  file.put(std::string(1024, '\0'));
  file.commit();
}

}  // namespace

TEST_CASE("archives of Python's tarfile in three formats: folders, long names, sizes around a block") {
  for (const char* const format : {"ustar", "gnu", "pax"}) {
    INFO(format);
    const data::Tar tar((support::recorded("records") / format).string() + ".tar");
    REQUIRE(tar.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const data::TarSample sample = tar.at({i});
      REQUIRE(sample.parts.size() == 2);
      CHECK(sample.text("seg.png") == content(i));
      CHECK(sample.text("cls") == std::to_string(i));
    }
    CHECK(tar.at({0}).key == "train/0000");
    const std::string last = std::string(format) == "ustar" ? [] {
      std::string deep = "train/";
      for (int i = 0; i < 25; ++i) deep += "deep/";
      return deep;
    }()
                                                            : "train/" + std::string(150, 'd') + "/";
    CHECK(tar.at({2}).key == last + "0002");
  }
}

TEST_CASE("archives go both ways; their bytes depend on the content alone") {
  const test::Directory directory;
  const std::string long_key = std::string(120, 'k') + "/" + std::string(511, 'n');
  for (const char* const name : {"a-0.tar", "b.tar"}) {
    data::TarWriter writer(directory / name);
    writer.write("x/1", "jpg", content(0)), writer.write("x/1", "cls", ""), writer.write("x.y/1", "cls", "dot");
    for (std::size_t more = 0; more < 4; ++more) writer.write(long_key + std::string(more, 'n'), "cls", content(more));
    writer.commit();
  }
  CHECK(test::get(directory / "a-0.tar") == test::get(directory / "b.tar"));
  write(directory / "a-1.tar", {{"x.y/1.cls", "another shard, another sample"}});
  const data::Tar tar(directory / "a-*.tar");
  REQUIRE(tar.size() == 7);
  CHECK((tar.at({0}).has("cls") && tar.at({0}).part("cls").empty()));
  CHECK(tar.at({0}).text("jpg") == content(0));
  CHECK(tar.at({1}).key == "x.y/1");
  CHECK(tar.place({1}) == tar.at({1}).where());
  for (std::size_t more = 0; more < 4; ++more) {
    CHECK(tar.at({2 + more}).key == long_key + std::string(more, 'n'));
    CHECK(tar.at({2 + more}).text("cls") == content(more));
  }
  CHECK(tar.at({6}).text("cls") == "another shard, another sample");
  refuses([&] { (void)tar.at({0}).part("png"); },
          "a-0.tar, offset 0, sample x/1: expected a file with the extension png, found only jpg, cls");
  refuses([&] { (void)tar.at({7}); }, "expected a record below 7");
  data::TarWriter writer(directory / "c.tar");
  for (const char* const key : {"a.b", "a/", "", "x/.a"})
    refuses([&] { writer.write(key, "cls", ""); }, "a key without a dot in its last part");
  refuses([&] { writer.write("a", "", ""); }, "and an extension");
}

TEST_CASE("what is no sample is refused, or skipped and counted") {
  const test::Directory directory;
  const std::string path = directory / "a.tar";
  const auto refusal = [&] { return error_of([&] { data::Tar{path}; }); };
  const auto rest = [&](std::size_t samples, std::size_t skipped) {
    const data::Tar tar(path, {.corrupt = data::Corrupt::Skip});
    CHECK(tar.size() == samples);
    CHECK(tar.skipped().records == skipped);
  };
  write(path, {{"1.cls", "a"}, {"README", "text"}, {"2.cls", "b"}});
  CHECK(says(refusal(), path + ", offset 1024: expected files named KEY.EXTENSION, found README"));
  rest(2, 1);
  write(path, {{"1.cls", "a"}, {".hidden", "text"}});
  CHECK(says(refusal(), "KEY.EXTENSION, found .hidden"));
  write(path, {{"1.cls", "a"}, {"1.cls", "b"}});
  CHECK(says(refusal(), "expected each file once in a sample, found 1.cls twice"));
  rest(1, 1);
  write(path, {{"1.cls", ""}}, '2');
  CHECK(says(refusal(), "1.cls, a link or a device"));
  rest(0, 1);
  write(path, {{"d", ""}}, '5');
  CHECK(refusal().empty());
  write(path, {{"name", "long"}}, 'L');
  CHECK(says(refusal(), "expected the entry that a long name belongs to, found the end of the archive"));
  test::put(path, std::string_view());
  CHECK(says(refusal(), path + ", offset 0: expected a header of 512 bytes"));
}

TEST_CASE("a damaged or shortened archive is refused; Skip keeps what stands before the damage") {
  const test::Directory directory;
  const std::string path = directory / "a.tar";
  write(path, {{"1.cls", "one"}, {"2.cls", "two"}});
  const test::Bytes whole = test::get(path);
  REQUIRE(whole.size() == 6 * 512);
  for (std::size_t length = 0; length < whole.size(); length += length % 512 < 500 ? 97 : 1) {
    INFO("length " << length);
    test::put(path, std::span(whole).first(length));
    REQUIRE(error_of([&] { data::Tar{path}; }).empty() == (length >= 2560));  // a block of zeros, or more
    const data::Tar rest(path, {.corrupt = data::Corrupt::Skip});
    REQUIRE(rest.size() == (length >= 2048 ? 2u : length >= 1024 ? 1u : 0u));
  }
  for (std::size_t bit = 0; bit < 512 * 8; bit += 3) {  // of the second header
    test::Bytes bytes = whole;
    bytes[1024 + bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    test::put(path, bytes);
    INFO("bit " << bit);
    if (bit / 8 >= 148 && bit / 8 < 156) continue;  // the checksum, which may have zeros or blanks before it
    REQUIRE(says(error_of([&] { data::Tar{path}; }), path + ", offset 1024"));
    REQUIRE(data::Tar(path, {.corrupt = data::Corrupt::Skip}).size() == 1);
  }
  test::Bytes bytes = whole;
  bytes.back() = 1;
  test::put(path, bytes);
  refuses([&] { data::Tar{path}; }, "expected zeros to the end of the file, after a block of zeros, found other bytes");
}
