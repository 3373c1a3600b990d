// Reads TFRecords of tf.train.Example, checksums and all, and says how fast; bench/data.sh runs it beside Python.
//   records write FILE [RECORDS] [BYTES]    images of about BYTES random bytes, a class, ten floats
//   records read FILE                       opens the file, and reads each record and all of its features
#include <regimen/core/philox.hpp>
#include <regimen/data/example.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace regimen;

namespace {

void write(const char* path, std::size_t records, std::size_t bytes) {
  data::RecordWriter writer(path);
  std::string image;
  for (std::size_t i = 0; i < records; ++i) {
    image.resize(bytes / 2 + mix(1, i) % (bytes + 1));
    for (std::size_t j = 0; j < image.size(); ++j) image[j] = static_cast<char>(mix(i, j / 8) >> (8 * (j % 8)) & 0xFF);
    std::array<float, 10> one_hot{};
    one_hot[i % 10] = 1;
    data::ExampleBuilder example;
    example.bytes("image", image).integers("class", {static_cast<std::int64_t>(i % 10)}).floats("one_hot", one_hot);
    writer.write(example.encode());
  }
  writer.commit();
}

/// The sum of what is read, which the peer must find, too.
void read(const char* path) {
  const auto begin = std::chrono::steady_clock::now();
  const data::Records records(path);
  std::size_t sum = 0, bytes = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const data::Record record = records.at({i});
    const data::Example example(record);
    const auto image = example.bytes("image");
    const auto one_hot = example.floats("one_hot");
    sum +=
        image.size() + std::to_integer<std::size_t>(image.back()) + static_cast<std::size_t>(example.integer("class"));
    for (std::size_t j = 0; j < one_hot.size(); ++j) sum += static_cast<std::size_t>(one_hot[j]) * j;
    bytes += record.bytes.size();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%zu records, %.0f a second, %.0f MB a second, sum %zu\n", records.size(),
              static_cast<double>(records.size()) / seconds, static_cast<double>(bytes) / 1e6 / seconds, sum);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc < 3 ? "" : argv[1];
  if (what == "write" && argc <= 5) {
    write(argv[2], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 20'000,
          argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 10'000);
  } else if (what == "read" && argc == 3) {
    read(argv[2]);
  } else {
    std::fprintf(stderr, "usage: records write FILE [RECORDS] [BYTES] | records read FILE\n");
    return 2;
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
