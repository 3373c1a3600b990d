// Lesson 15: a network that torchvision saved learns a folder of images with a new head, and nothing else of it changes.
#include "fine_tune.hpp"

#include "../temporary.hpp"

#include "../support/captured.hpp"
#include "../support/catch.hpp"
#include "../support/data.hpp"

#include <regimen/models/layers_of.hpp>
#include <regimen/models/resnet.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

using namespace regimen;

namespace {

// The small network of tests/recorded/make_vision.py, which is torchvision's code; its head has 5 classes.
constexpr std::size_t side = 16;
using Picture = regimen::Image<side, side, 3>;
using Backbone =
    ResNetModel<Picture, 5, resnet::Basic, resnet::Depths<2, 2, 1, 1>, resnet::Width<2>, resnet::CifarStem>;
template <std::size_t classes>
struct Net final : Model<Input<Picture>, Frozen<KeepStatistics, EncoderOf<Backbone>>, Linear<classes>> {};
constexpr auto pretrained =
    names::list(Backbone::torchvision_encoder_names, names::absent(names::layer("fc")), names::ignore("fc.*"));
constexpr auto whole = names::list(Backbone::torchvision_encoder_names, names::layer("fc"));
std::string weights() { return support::recorded("resnet/basic/model.safetensors").string(); }

/// Pictures of three colours, brighter and darker.
void paint(const ::test::Directory& folder, std::size_t count) {
  const std::array<std::array<std::uint8_t, 3>, 3> colours{{{220, 30, 30}, {30, 200, 30}, {30, 30, 230}}};
  const std::vector<std::string> names{"red", "green", "blue"};
  for (std::size_t c = 0; c < 3; ++c) {
    std::filesystem::create_directory(folder / names[c]);
    for (std::size_t i = 0; i < count; ++i) {
      data::Image image(20, 18, 3);
      for (std::size_t at = 0; at < image.pixels().size(); ++at)
        image.pixels()[at] = static_cast<std::uint8_t>(colours[c][at % 3] + (at * 37 + i * 11) % 25);
      data::write_png(folder / names[c] + "/" + std::to_string(i) + ".png", image);
    }
  }
}

}  // namespace

TEST_CASE("a frozen network with the head that it had gives torchvision's logits") {
  const safetensors::File recorded(support::recorded("resnet/basic/results.safetensors").string());
  Inference<Net<5>, Precision<fp64>, Batch<8>> model;
  names::load<whole>(model, weights());
  std::vector<double> pictures, truth(8 * 5);
  for (std::uint32_t place = 0; place < 8 * 3 * side * side; ++place) {  // as tests/recorded/make_vision.py
    std::uint32_t mixed = place * 2'654'435'761u;
    mixed = (mixed ^ (mixed >> 15)) * 2'246'822'519u;
    mixed ^= mixed >> 13;
    const std::size_t size = 3 * side * side;
    pictures.push_back(double(mixed >> 8) / 0x1p23 - 1 + (place % size % 5 == place / size % 5 ? 1 : 0));
  }
  recorded.copy<double>("fp64.logits", std::vector<std::size_t>{8, 5}, truth);
  const auto logits = model.predict(pictures);
  REQUIRE(logits.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) CHECK(std::abs(double(logits[i]) - truth[i]) <= 1e-10);
}

TEST_CASE("a new head learns on a network that stays as it is, and says what it takes for what") {
#if defined(REGIMEN_HAS_PNG)
  const ::test::Directory folder, state;
  paint(folder, 20);
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"fine_tune", "--images", folder.path()});
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    return images::train<Net<4>, side, 4, Batch<16>>(int(words.size()), words.data(),
                                                     images::FromPretrained<pretrained>{});
  };
  int code = -1;
  const std::string said = support::captured_error([&] {  // with the log on standard output, people read there
    code = run({"--weights", weights(), "--epochs", "40", "--log", "-", "--save", state.path()});
  });
  INFO(said);
  CHECK(code == program::ok);

  // Of 12 pictures that are held out, 4 of each colour, nearly all are on the diagonal.
  const std::size_t table = said.find("rows: what an image is");
  REQUIRE(table != std::string::npos);
  std::istringstream lines(said.substr(table));
  std::string line;
  std::getline(lines, line), std::getline(lines, line);
  double right = 0, all = 0;
  for (const char* name : {"blue", "green", "red"}) {
    std::size_t number = 0;
    std::string found;
    std::array<double, 4> counts{};
    lines >> number >> found;
    for (double& count : counts) lines >> count;
    CHECK(found == name);
    for (const double count : counts) all += count;
    right += counts[number - 1];
  }
  CHECK(all == 12);
  CHECK(right >= 11);  // 4 by chance

  using Train = program::Recipe<Net<4>, boost::mp11::mp_list<Optimizer<AdamW>, Batch<32>>, Batch<16>>;
  Train before, after;
  names::load<pretrained>(before, weights());
  after.load(state / "state.safetensors");
  const auto old = before.parameters(), trained = after.parameters();
  std::size_t changed = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    INFO(old[i].name);
    const bool same = std::equal(old[i].values.begin(), old[i].values.end(), trained[i].values.begin());
    CHECK(same == !old[i].trains);
    changed += !same;
  }
  CHECK(changed == 2);

  CHECK(run({"--steps", "1"}) == program::bad_arguments);
  CHECK(run({"--steps", "1", "--weights", folder / "none"}) == program::failed);
  CHECK(run({"--steps", "1", "--weights", support::recorded("vit/model.safetensors").string()}) == program::failed);
#else
  REGIMEN_SKIP("needs libpng");
#endif
}
// SPDX-License-Identifier: Apache-2.0
