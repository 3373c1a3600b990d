// SPDX-License-Identifier: Apache-2.0
// examples/pictures.hpp — small pictures in colour, of ten classes: the code that lesson 9 and its test share.
#pragma once

#include <regimen/regimen.hpp>

#include "session.hpp"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace pictures {

inline constexpr std::size_t side = 32, pixels = side * side, numbers = 3 * pixels, classes = 10;

inline void expect_shape(const std::string& who, const regimen::SampleShape& shape) {
  if (shape.input == numbers && shape.target == 1) return;
  throw regimen::Error(who, "a model that reads 3072 numbers and has 1 target", std::to_string(shape.input) + " and " + std::to_string(shape.target));
}

/// A source of pictures that are drawn when they are read: stripes, checks, rings and discs of ten kinds, at any place, in any two
/// colours, with noise. A single pixel says nothing of the kind; its neighbourhood says all.
class Drawn final {
 public:
  Drawn(std::size_t count, std::uint64_t seed) : count_(count), seed_(seed) {}

  std::size_t size(const regimen::SampleShape& shape) const {
    expect_shape("Drawn", shape);
    return count_;
  }
  void read(std::size_t index, regimen::Sample<float, std::int32_t> sample) const {
    std::uint64_t drawn = 0;
    const auto random = [&] { return float(regimen::Philox::draw(seed_, index, drawn++).word[0] >> 8) * 0x1p-24F; };  // in [0, 1)
    const float across = 16 + 8 * random(), down = 16 + 8 * random();
    float colours[2][3];
    for (auto& colour : colours)
      for (float& channel : colour) channel = 2 * random() - 1;
    for (std::size_t i = 0; i < pixels; ++i) {
      const bool is_second = is_on(index % classes, float(i % side) + across, float(i / side) + down);
      for (std::size_t c = 0; c < 3; ++c) sample.input[3 * i + c] = colours[is_second][c] + 0.2F * (random() - 0.5F);
    }
    sample.target[0] = std::int32_t(index % classes);
  }

 private:
  static bool is_on(std::size_t kind, float x, float y) {
    const auto stripe = [](float place, float width) { return std::fmod(place, 2 * width) < width; };
    const float width = kind % 2 == 0 ? 2 : 4, distance = std::hypot(x - 36, y - 36);
    switch (kind / 2) {
      case 0: return stripe(x, width);
      case 1: return stripe(y, width);
      case 2: return stripe(x, width) != stripe(y, width);
      case 3: return stripe(kind == 6 ? x + y : x - y + 64, 4);
      default: return kind == 8 ? stripe(distance, 3) : distance < 9;
    }
  }

  std::size_t count_;
  std::uint64_t seed_;
};

/// CIFAR-10's binary files: for each picture a class and 32 x 32 bytes of red, green and blue. Numbers are in [-1, 1].
class Cifar final {
 public:
  Cifar(const std::string& folder, const std::vector<std::string>& names) : name_(folder) {
    auto all = std::make_shared<std::vector<char>>();
    for (const std::string& name : names) {
      std::ifstream file(folder + "/" + name, std::ios::binary);
      const std::size_t before = all->size();
      all->insert(all->end(), std::istreambuf_iterator<char>(file), {});
      if (!file || all->size() == before || all->size() % record != 0)
        throw regimen::Error(folder + "/" + name, "pictures of 3073 bytes each", std::to_string(all->size() - before) + " bytes", "it is in cifar-10-binary.tar.gz");
    }
    bytes_ = all;
  }

  std::string name() const { return name_; }
  std::size_t size(const regimen::SampleShape& shape) const {
    expect_shape(name_, shape);
    return bytes_->size() / record;
  }
  void read(std::size_t index, regimen::Sample<float, std::int32_t> sample) const {
    const auto* const picture = reinterpret_cast<const std::uint8_t*>(bytes_->data()) + index * record;
    for (std::size_t i = 0; i < numbers; ++i) sample.input[i] = float(picture[1 + i % 3 * pixels + i / 3]) / 127.5F - 1;  // channels innermost
    sample.target[0] = picture[0];
  }

 private:
  static constexpr std::size_t record = 1 + numbers;
  std::string name_;
  std::shared_ptr<const std::vector<char>> bytes_;
};

/// Trains Model on pictures, with Policies; the policies below are the defaults.
template <class Model, class... Policies>
int train(int argc, char** argv) {
  using namespace regimen;
  using Own = boost::mp11::mp_list<Optimizer<RmsProp>, Batch<32>>;
  using Train = program::Recipe<Model, Own, Policies...>;

  program::Options options{.steps = 200, .validate_every = 100, .learning_rate = 2e-3};
  program::CommandLine line("A residual network learns pictures of 32 x 32 pixels, of ten classes.", options,
                            "Folder with CIFAR-10's data_batch_1.bin to data_batch_5.bin, and test_batch.bin, which validates. Without it: drawn pictures");
  if (const auto code = line.parse(argc, argv)) return *code;

  return program::run([&] {
    const auto learn = [&](const auto& source, const auto& held_out) {
      Train trainer(options.trainer<Train>());
      program::Session<Train> session(trainer, options);
      trainer.fit(source, held_out, options.run(), session);
      std::fprintf(session.out(), "accuracy %.4f on %zu pictures\n", session.validation().accuracy, session.validation().targets);
      return session.finish();
    };
    if (options.data.empty()) return learn(Drawn(50'000, 1), Drawn(1'000, 2));
    std::vector<std::string> names;
    for (const char number : {'1', '2', '3', '4', '5'}) names.push_back(std::string("data_batch_") + number + ".bin");
    return learn(Cifar(options.data, names), Cifar(options.data, {"test_batch.bin"}));
  });
}

}  // namespace pictures
