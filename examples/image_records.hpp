// examples/image_records.hpp — a folder of images becomes shards of records: the program image_records and its test.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/data/example.hpp>
#include <regimen/data/image_folder.hpp>
#include <regimen/data/records.hpp>
#include <regimen/data/tar.hpp>

#include "program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace image_records {

using namespace regimen;

struct Arguments {
  std::string images, output, format = "tar";
  std::uint64_t per_shard = 1000, shorter = 0, quality = 90, seed = 0, threads = 0;
  bool in_order = false, skip_damaged = false;
};

/// What goes into a record: the file as it is, or a smaller JPEG.
inline std::vector<std::uint8_t> encoded(data::EncodedImage&& file, const Arguments& arguments) {
  if (arguments.shorter == 0) {
    // What is damaged is found here, not when it is trained on; the folder has looked if it skips.
    if (!arguments.skip_damaged) (void)data::decode(file, {.height = 1, .width = 1});
    return std::move(file.encoded);
  }
  const std::size_t side = arguments.shorter;
  const data::Image image = data::decode(file, {.height = side, .width = side});
  const bool shrinks = std::min(image.height(), image.width()) > side;   // no image becomes larger
  return data::encode_jpeg(shrinks ? data::resize_shorter(image, side) : image, static_cast<int>(arguments.quality));
}

/// A shard of WebDataset: NUMBER.jpg or .png, and NUMBER.cls, the class as a number.
class TarShard {
 public:
  explicit TarShard(const std::string& path) : writer_(path) {}
  void write(std::size_t number, const std::string&, std::int32_t label, std::span<const std::uint8_t> image) {
    char key[24];  // of any number
    std::snprintf(key, sizeof key, "%09zu", number);
    writer_.write(key, image[0] == 0xFF ? "jpg" : "png", std::as_bytes(image));
    writer_.write(key, "cls", std::to_string(label));
  }
  void commit() { writer_.commit(); }

 private:
  data::TarWriter writer_;
};

/// A TFRecord file of tf.train.Example: the features image, class and path.
class RecordShard {
 public:
  explicit RecordShard(const std::string& path) : writer_(path) {}
  void write(std::size_t, const std::string& path, std::int32_t label, std::span<const std::uint8_t> image) {
    data::ExampleBuilder example;
    example.bytes("image", std::as_bytes(image)).integers("class", {label}).bytes("path", path);
    writer_.write(example.encode());
  }
  void commit() { writer_.commit(); }

 private:
  data::RecordWriter writer_;
};

/// Writes the shards of a folder, each by one of several threads, and returns their bytes of images. A shard appears whole.
template <class Shard>
std::size_t write_shards(const data::ImageFolder& folder, const Arguments& arguments, const std::vector<std::string>& paths) {
  const std::size_t size = folder.size();
  const Order order = arguments.in_order ? Order::Sequential : Order::Shuffled;
  std::atomic<std::size_t> next = 0, bytes = 0;
  std::atomic<bool> stops = false;
  std::mutex mutex;
  std::size_t done = 0;   // guarded, as the following
  std::exception_ptr failure;
  program::Progress progress;
  const auto write = [&](std::size_t number) {
    Shard shard(paths[number]);
    const std::size_t last = size * (number + 1) / paths.size();
    for (std::size_t place = size * number / paths.size(); place < last; ++place) {
      const std::size_t index = index_in_order(order, arguments.seed, 0, place, size);
      data::EncodedImage file = folder.at({.index = index});
      const std::string path = file.path.substr(folder.name().size() + 1);
      const std::int32_t label = file.label;
      const std::vector<std::uint8_t> image = encoded(std::move(file), arguments);
      shard.write(place, path, label, image);
      bytes += image.size();
      const std::lock_guard lock(mutex);
      if (stops) return;
      progress("images", ++done, size);
    }
    shard.commit();
  };
  const auto work = [&] {
    try {
      for (std::size_t number = next++; number < paths.size() && !stops; number = next++) write(number);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stops = true;
    }
  };
  const std::size_t asked = arguments.threads != 0 ? arguments.threads : static_cast<std::size_t>(thread_count());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(asked, paths.size()); ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  return bytes;
}

/// Refuses shards of this prefix that this run does not replace: PREFIX-*.tar would read them, too.
inline void refuse_other_shards(const Arguments& arguments, const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  const fs::path output(arguments.output);
  const std::string prefix = output.filename().string() + "-", ending = arguments.format == "tar" ? ".tar" : ".tfrec";
  std::error_code error;
  fs::directory_iterator at(output.has_parent_path() ? output.parent_path() : fs::path("."), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(ending) || name.size() < prefix.size() + ending.size()) continue;
    std::size_t number = 0, count = 0;
    int end = 0;
    const std::string middle = name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
    if (std::sscanf(middle.c_str(), "%zu-of-%zu%n", &number, &count, &end) != 2 || static_cast<std::size_t>(end) != middle.size() || count == paths.size()) continue;
    throw Error(arguments.output, "no shards yet, or as many as this run writes, " + std::to_string(paths.size()), name,
                "remove the shards of the earlier run, or choose another --output");
  }
}

inline int convert(const Arguments& arguments) {
  std::string source = arguments.images;
  while (source.size() > 1 && source.back() == '/') source.pop_back();
  program::catch_interrupt();
  program::Progress checking;
  const data::ImageFolder folder(source, {.corrupt = arguments.skip_damaged ? data::Corrupt::Skip : data::Corrupt::Refuse,
                                          .report = [&](const char* what, std::size_t done, std::size_t all) { checking(what, done, all); }});
  for (const std::string& file : folder.damaged()) std::fprintf(stderr, "left out: %s\n", file.c_str());
  const std::size_t count = (folder.size() + arguments.per_shard - 1) / arguments.per_shard;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    char ending[64];
    std::snprintf(ending, sizeof ending, "-%05zu-of-%05zu.%s", i, count, arguments.format == "tar" ? "tar" : "tfrec");
    paths.push_back(arguments.output + ending);
  }
  refuse_other_shards(arguments, paths);
  const auto begun = std::chrono::steady_clock::now();
  const std::size_t bytes = arguments.format == "tar" ? write_shards<TarShard>(folder, arguments, paths)
                                                      : write_shards<RecordShard>(folder, arguments, paths);
  std::string classes;
  for (const std::string& name : folder.classes()) classes += name + "\n";
  regimen::detail::AtomicFile file(arguments.output + "-classes.txt");
  file.write(std::as_bytes(std::span(classes)));
  file.commit();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%s: %zu images of %zu classes, %zu bytes, in %zu %s, in %.2f s, %.0f images/s\n", arguments.output.c_str(), folder.size(),
              folder.classes().size(), bytes, count, count == 1 ? "shard" : "shards", seconds, static_cast<double>(folder.size()) / seconds);
  if (folder.skipped().records != 0) std::printf("%zu damaged images were left out\n", folder.skipped().records);
  if (folder.others() != 0) std::printf("%zu other files were left out\n", folder.others());
  return program::ok;
}

inline int run(int argc, char** argv) {
  Arguments arguments;
  program::CommandLine line("Images to records: a folder with a sub-folder of JPEG and PNG files for each class becomes shards, which regimen::data::Tar or "
                            "Records read, and WebDataset or tf.data. They are shuffled, and named PREFIX-00000-of-00004.tar, say; PREFIX-classes.txt has the "
                            "names of the classes, one a line, the first of number 0.");
  line.add("--images", arguments.images, "The folder");
  line.add("--output", arguments.output, "PREFIX: how the names of the shards begin; shards of another number must not be there");
  line.add("--format", arguments.format, "tar: NUMBER.jpg or .png, and NUMBER.cls, as WebDataset has them; tfrecord: Examples with image, class and path", {"tar", "tfrecord"});
  line.add("--per-shard", arguments.per_shard, "Images of a shard, at most; shards differ by one image at most", 1);
  line.add("--shorter", arguments.shorter, "Shrink images to this shorter side, as JPEG; 0: the files as they are");
  line.add("--quality", arguments.quality, "Of those JPEG files, 1 to 100", 1);
  line.add("--seed", arguments.seed, "Of the order");
  line.add("--in-order", arguments.in_order, "Class by class, sorted by path, not shuffled");
  line.add("--skip-damaged", arguments.skip_damaged, "Leave out images that cannot be decoded, name them, and count them; otherwise the first ends the program");
  line.add("--threads", arguments.threads, "Each writes a shard; 0: OMP_NUM_THREADS, else the processors");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (arguments.images.empty() || arguments.output.empty() || arguments.quality > 100 || arguments.threads > 4096) {
    std::fprintf(stderr, "image_records: expected --images FOLDER, --output PREFIX, a quality of at most 100, and at most 4096 threads\nsee image_records --help\n");
    return program::bad_arguments;
  }
  return program::run([&] {
    try {
      return convert(arguments);
    } catch (const program::Interrupted&) {
      std::fprintf(stderr, "stopped; the shards of %s that are there are whole\n", arguments.output.c_str());
      return static_cast<int>(program::interrupted);
    }
  });
}

}  // namespace image_records
// SPDX-License-Identifier: Apache-2.0
