// SPDX-License-Identifier: Apache-2.0
// bench/records.cpp — reads TFRecords of tf.train.Example, checksums and all, and says how fast: bench/data.sh
//
//   records write FILE RECORDS BYTES    images of about BYTES random bytes, a class, ten floats
//   records read FILE                   opens the file, and reads each record
//   records parse FILE                  and all of its features
//
// Prints one JSON object: records a second of this process on a processor, and a sum of what it read, which peers find, too.
#include "clock.hpp"

#include <regimen/core/philox.hpp>
#include <regimen/data/example.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace regimen;

namespace {

void write(const char* path, std::size_t records, std::size_t bytes) {
  data::RecordWriter writer(path);
  std::string image;
  for (std::size_t i = 0; i < records; ++i) {
    image.resize(bytes / 2 + Philox::mix(1, i) % (bytes + 1));
    for (std::size_t j = 0; j < image.size(); ++j)
      image[j] = static_cast<char>(Philox::mix(i, j / 8) >> (8 * (j % 8)) & 0xFF);
    std::array<float, 10> one_hot{};
    one_hot[i % 10] = 1;
    data::ExampleBuilder example;
    example.bytes("image", image).integers("class", {static_cast<std::int64_t>(i % 10)}).floats("one_hot", one_hot);
    writer.write(example.encode());
  }
  writer.commit();
}

std::size_t sum_of(const data::Example& example) {
  const auto image = example.bytes("image");
  const auto one_hot = example.floats("one_hot");
  std::size_t sum =
      image.size() + std::to_integer<std::size_t>(image.back()) + static_cast<std::size_t>(example.integer("class"));
  for (std::size_t j = 0; j < one_hot.size(); ++j) sum += static_cast<std::size_t>(one_hot[j]) * j;
  return sum;
}

void read(const char* path, bool parses) {
  const bench::Clock clock(true);
  const double begun = clock.seconds();
  const data::Records records(path);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const data::Record record = records.at({i});
    sum += parses ? sum_of(data::Example(record)) : record.bytes.size();
  }
  const double seconds = clock.seconds() - begun;
  std::printf("{\"rate\":%.0f,\"count\":%zu,\"seconds\":%.4f,\"check\":\"%zu\"}\n",
              static_cast<double>(records.size()) / seconds, records.size(), seconds, sum);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc < 3 ? "" : argv[1];
  if (what == "write" && argc == 5) {
    write(argv[2], std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10));
  } else if ((what == "read" || what == "parse") && argc == 3) {
    read(argv[2], what == "parse");
  } else {
    std::fprintf(stderr, "usage: records write FILE RECORDS BYTES | records read|parse FILE\n");
    return 2;
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
