// SPDX-License-Identifier: Apache-2.0
// bench/data_images.cpp — images from a folder to batches of numbers, by the pipeline of lesson 12: bench/data.sh
//
//   data_images make FOLDER COUNT HEIGHT WIDTH    writes JPEG files, of two classes
//   data_images MODE FOLDER ROUNDS WORKERS        reads all of them ROUNDS times; MODE: train (parts at random) or eval
//
// Prints one JSON object: images a second; without workers a second of this process on a processor.
#include "clock.hpp"
#include "images.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace regimen;

namespace {

constexpr std::size_t side = 224, batch = 32;

/// Like a photograph to a JPEG decoder: structure of all sizes, a little noise.
data::Image photograph(std::size_t height, std::size_t width, std::uint64_t seed) {
  data::Image image(height, width, 3);
  data::Draws draws({seed, 0, 0}, 1);
  double waves[24][5];
  for (int i = 0; i < 24; ++i) {
    const double frequency = std::pow(2.0, draws.between(0, 7)), angle = draws.between(0, 6.2832);
    waves[i][0] = frequency * std::cos(angle), waves[i][1] = frequency * std::sin(angle),
    waves[i][2] = draws.between(0, 6.2832);
    waves[i][3] = 50 / std::sqrt(frequency), waves[i][4] = draws.between(0, 6.2832);
  }
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) {
      double sum[3] = {128, 128, 128};
      for (const auto& wave : waves) {
        const double at = 6.2832 * (wave[0] * double(y) + wave[1] * double(x)) / double(height) + wave[2];
        for (int c = 0; c < 3; ++c) sum[c] += wave[3] * std::sin(at + 0.4 * c * std::sin(wave[4]));
      }
      for (std::size_t c = 0; c < 3; ++c)
        image.row(y)[3 * x + c] = static_cast<std::uint8_t>(std::clamp(sum[c] + draws.between(-8, 8), 0.0, 255.0));
    }
  return image;
}

int measure(const data::ImageFolder& folder, bool at_random, std::uint64_t rounds, std::size_t workers) {
  auto source = images::source<side>(folder, at_random);
  Loader<float, std::int32_t, decltype(source)> loader(
      source, {.input = side * side * 3, .target = 1, .vocabulary_or_classes = 0, .classes = 2},
      {.batch = batch, .epochs = rounds + 2, .workers = workers});
  const bench::Clock clock(workers == 0);
  std::uint64_t images = 0;
  double began = clock.seconds(), sum = 0;
  for (auto read = loader.next(); read; read = loader.next()) {
    if (read.epoch == 0) {  // to warm up
      began = clock.seconds();
      continue;
    }
    if (read.epoch > rounds) break;  // workers read ahead of what counts as they did before it
    images += read.samples;
    sum += double(read.input[read.samples - 1]);
  }
  const double seconds = clock.seconds() - began;
  std::printf("{\"rate\":%.1f,\"count\":%llu,\"seconds\":%.3f,\"sum\":%.3f}\n", double(images) / seconds,
              static_cast<unsigned long long>(images), seconds, sum);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return program::run([&] {
    const std::string mode = argc > 1 ? argv[1] : "";
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    if (mode == "make" && argc == 6) {
      const std::string folder = argv[2];
      for (std::uint64_t i = 0; i < number(3); ++i) {
        const std::string of_class = folder + (i % 2 == 0 ? "/a" : "/b");
        std::filesystem::create_directories(of_class);
        data::write_jpeg(of_class + "/" + std::to_string(i) + ".jpg", photograph(number(4), number(5), i));
      }
      return 0;
    }
    if ((mode == "train" || mode == "eval") && argc == 5)
      return measure(data::ImageFolder(argv[2]), mode == "train", number(3), number(4));
    std::fprintf(stderr,
                 "data_images make FOLDER COUNT HEIGHT WIDTH, or data_images train|eval FOLDER ROUNDS WORKERS\n");
    return int(program::bad_arguments);
  });
}
