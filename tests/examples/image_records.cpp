// The program image_records: what is in the shards is what was in the folder.
#include "image_records.hpp"

#include "../support/captured.hpp"
#include "../support/catch.hpp"
#include "../temporary.hpp"

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace regimen;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Two classes of PNG files, and a file that is none; by path the bytes and the class.
std::map<std::string, std::pair<Bytes, std::int32_t>> paint(const std::string& folder) {
  std::map<std::string, std::pair<Bytes, std::int32_t>> all;
  for (std::int32_t label = 0; label < 2; ++label) {
    const std::string name = label == 0 ? "blue/old" : "red";
    std::filesystem::create_directories(folder + "/" + name);
    for (std::size_t i = 0; i < 6; ++i) {
      data::Image image(30 + i, 20, 3);
      for (std::size_t at = 0; at < image.pixels().size(); ++at)
        image.pixels()[at] = static_cast<std::uint8_t>(at % 3 == (label == 0 ? 2 : 0) ? 200 : i);
      const std::string path = name + "/" + std::to_string(i) + ".x.png";  // a dot more than keys may have
      data::write_png(folder + "/" + path, image);
      const ::test::Bytes read = ::test::get(folder + "/" + path);
      all[path] = {Bytes(read.begin(), read.end()), label};
    }
  }
  ::test::put(folder + "/red/notes.txt", ::test::Bytes{'x'});
  return all;
}
int convert(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "image_records");
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  return image_records::run(static_cast<int>(words.size()), words.data());
}
Bytes bytes_of(std::span<const std::byte> data) {
  Bytes result(data.size());
  std::memcpy(result.data(), data.data(), data.size());
  return result;
}

}  // namespace

TEST_CASE("a folder becomes shards that hold the same files and classes, in an order of the seed alone") {
#if defined(REGIMEN_HAS_PNG) && defined(REGIMEN_HAS_JPEG)
  const ::test::Directory folder;
  const auto painted = paint(folder / "images");
  const std::string images = (folder / "images") + "/";

  REQUIRE(convert({"--images", images, "--output", folder / "t", "--format", "tfrecord", "--per-shard", "5"}) ==
          program::ok);
  const data::Records records(folder / "t-*-of-00003.tfrec");
  REQUIRE(records.size() == 12);
  std::vector<std::string> order;
  std::map<std::string, std::pair<Bytes, std::int32_t>> found;
  for (std::size_t i = 0; i < 12; ++i) {
    const data::Record record = records.at({.index = i});
    const data::Example example(record);
    order.emplace_back(example.text("path"));
    found[order.back()] = {bytes_of(example.bytes("image")), static_cast<std::int32_t>(example.integer("class"))};
  }
  CHECK(found == painted);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));

  REQUIRE(convert({"--images", images, "--output", folder / "w", "--per-shard", "5", "--threads", "1"}) == program::ok);
  const data::Tar shards(folder / "w-*-of-00003.tar");
  REQUIRE(shards.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) {  // the same order, by one thread and in the other format
    const data::TarSample sample = shards.at({.index = i});
    CHECK(bytes_of(sample.part("png")) == painted.at(order[i]).first);
    CHECK(sample.text("cls") == std::to_string(painted.at(order[i]).second));
  }
  CHECK(data::Records(folder / "t-00000-of-00003.tfrec").size() == 4);
  const ::test::Bytes classes = ::test::get(folder / "w-classes.txt");
  CHECK(std::string(classes.begin(), classes.end()) == "blue\nred\n");

  // The pattern w-*.tar would read the shards of both; as many shards are replaced.
  const std::string both = support::captured_error([&] {
    CHECK(convert({"--images", images, "--output", folder / "w", "--per-shard", "4"}) == program::ok);
    CHECK(convert({"--images", images, "--output", folder / "w", "--per-shard", "2"}) == program::failed);
  });
  CHECK(::test::says(both, "/w: expected no shards yet, or as many as this run writes, 6, found w-0000"));
  CHECK(data::Tar(folder / "w-*.tar").size() == 12);

  REQUIRE(convert({"--images", images, "--output", folder / "s", "--in-order", "--shorter", "8"}) == program::ok);
  const data::Tar small(folder / "s-00000-of-00001.tar");
  for (std::size_t i = 0; i < 12; ++i) {
    const Bytes file = bytes_of(small.at({.index = i}).part("jpg"));
    const data::Image image = data::decode_jpeg(file, "small");
    CHECK(image.width() == 8);
    CHECK(image.height() == 8 * (30 + i % 6) / 20);
    CHECK(int(image.row(4)[3 * 4 + (i < 6 ? 2 : 0)]) > 180);
    CHECK(int(image.row(4)[3 * 4 + (i < 6 ? 0 : 2)]) < 40);
  }
#else
  REGIMEN_SKIP("needs libjpeg-turbo and libpng");
#endif
}

#if defined(REGIMEN_HAS_PNG) && defined(REGIMEN_HAS_JPEG)
TEST_CASE("an image that is cut off ends the conversion with its name, or is left out if that is asked for") {
  const ::test::Directory folder;
  auto painted = paint(folder / "images");
  data::Image image(30, 20, 3);
  for (std::size_t i = 0; i < image.pixels().size(); ++i) image.pixels()[i] = std::uint8_t(i * i / 7);
  for (const char* name : {"red/0.x.png", "red/cut.jpg"}) {
    if (painted.erase(name) == 0) data::write_jpeg((folder / "images/") + name, image);
    ::test::Bytes bytes = ::test::get((folder / "images/") + name);
    bytes.resize(bytes.size() * 9 / 10);
    ::test::put((folder / "images/") + name, bytes);
    std::vector<std::string> arguments{"--images", folder / "images", "--output", folder / "x"};
    const std::string said = support::captured_error([&] { CHECK(convert(arguments) == program::failed); });
    CHECK(::test::says(said, (std::string(name) + ": expected a whole ").c_str()));
    CHECK_FALSE(std::filesystem::exists(folder / "x-00000-of-00001.tar"));
    arguments.push_back("--skip-damaged");
    arguments[3] = folder / std::string(1, name[4]);
    CHECK(::test::says(support::captured_error([&] { CHECK(convert(arguments) == program::ok); }), "left out: "));
    CHECK(data::Tar(arguments[3] + "-00000-of-00001.tar").size() == painted.size());
    std::filesystem::remove((folder / "images/") + name);
  }
}
#endif

TEST_CASE("a file that is no image ends the conversion with its name, and no half shard") {
  const ::test::Directory folder;
  std::filesystem::create_directories(folder / "images/a");
  ::test::put(folder / "images/a/1.png", ::test::Bytes{'n', 'o'});
  const std::string said = support::captured_error([&] {
    CHECK(convert({"--images", folder / "images", "--output", folder / "x"}) == program::failed);
    CHECK(convert({"--images", folder / "nowhere", "--output", folder / "x"}) == program::failed);
  });
  CHECK(::test::says(said, "images/a/1.png: expected a JPEG or PNG image, found bytes of no image format known here"));
  CHECK(folder.files() == 1);  // the images
  CHECK(convert({"--images", folder / "images"}) == program::bad_arguments);
  CHECK(convert({"--images", folder / "images", "--output", folder / "x", "--quality", "101"}) ==
        program::bad_arguments);
}
// SPDX-License-Identifier: Apache-2.0
