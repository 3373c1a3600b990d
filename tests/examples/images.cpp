// Lesson 12: a folder of images is read, decoded, changed and learnt.
#include "images.hpp"

#include "../temporary.hpp"

#include "../support/catch.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t side = 8;
struct Tiny
    : Model<Input<regimen::Image<side, side, 3>>, Conv2d<8, 3, Padding<1>>, Relu, GlobalAveragePool, Linear<4>> {};

/// Pictures of three colours, of several sizes, as JPEG and PNG.
void paint(const ::test::Directory& folder, std::size_t count) {
  const std::array<std::array<std::uint8_t, 3>, 3> colours{{{200, 40, 40}, {40, 180, 40}, {50, 50, 210}}};
  const std::vector<std::string> names{"red", "green", "blue"};
  for (std::size_t c = 0; c < 3; ++c) {
    std::filesystem::create_directory(folder / names[c]);
    for (std::size_t i = 0; i < count; ++i) {
      data::Image image(12 + i % 5, 9 + i % 7, 3);
      for (std::size_t at = 0; at < image.pixels().size(); ++at)
        image.pixels()[at] = static_cast<std::uint8_t>(colours[c][at % 3] + (at * 37 + i * 11) % 40);
      const std::string path = folder / names[c] + "/" + std::to_string(i);
      if (i % 2 == 0) data::write_png(path + ".png", image);
      else data::write_jpeg(path + ".jpg", image);
    }
  }
}

}  // namespace

TEST_CASE("a folder of images is learnt, and what is held out is told apart") {
#if defined(REGIMEN_HAS_PNG) && defined(REGIMEN_HAS_JPEG)
  const ::test::Directory folder;
  paint(folder, 20);
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"images", "--images", folder.path(), "--log", folder / "log"});
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    return images::train<Tiny, side, 4, Batch<16>>(int(words.size()), words.data());
  };
  CHECK(run({"--epochs", "30", "--learning-rate", "0.02"}) == program::ok);
  const ::test::Bytes bytes = ::test::get(folder / "log");
  const std::string log(bytes.begin(), bytes.end());
  const std::size_t at = log.rfind("\"accuracy\":");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(log.substr(at + 11)) >= 0.9);          // a third without learning
  CHECK(log.find("\"step\":90,") != std::string::npos);  // 30 epochs of 48 images

  const auto validations = [&](std::vector<std::string> arguments) {
    CHECK(run(std::move(arguments)) == program::ok);
    const ::test::Bytes said = ::test::get(folder / "log");
    const std::string lines(said.begin(), said.end());
    std::size_t count = 0;
    for (std::size_t i = lines.find("\"accuracy\":"); i != lines.npos; i = lines.find("\"accuracy\":", i + 1)) ++count;
    return count;
  };
  CHECK(validations({"--steps", "10"}) == 5);
  CHECK(validations({"--steps", "10", "--validate-every", "0"}) == 1);  // as --help says

  CHECK(run({"--steps", "2", "--held-out", "2"}) == program::bad_arguments);
  std::filesystem::create_directory(folder / "empty");
  CHECK(run({"--steps", "2"}) == program::failed);
#else
  REGIMEN_SKIP("needs libjpeg-turbo and libpng");
#endif
}
