// The loader's bytes are those that it has allocated and those that a program asks for at compile time, the stages' those
// that they have allocated; neither grows with the records that are read.
#include <regimen/data/csv.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/data/pipeline.hpp>
#include <regimen/data/records.hpp>
#include <regimen/data/tar.hpp>

#include <catch2/catch.hpp>
#include "../temporary.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

namespace {

std::atomic<std::size_t> live{0}, most{0};
constexpr std::size_t room = alignof(std::max_align_t);

}  // namespace

// All of a program's memory passes through these.
void* operator new(std::size_t bytes) {
  auto* const block = static_cast<std::size_t*>(std::malloc(bytes + room));
  if (block == nullptr) throw std::bad_alloc();
  *block = bytes;
  const std::size_t now = live += bytes;
  for (std::size_t old = most; old < now && !most.compare_exchange_weak(old, now);) {}
  return reinterpret_cast<std::byte*>(block) + room;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* const block = reinterpret_cast<std::size_t*>(static_cast<std::byte*>(memory) - room);
  live -= *block;
  std::free(block);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

using namespace regimen;

struct Records {
  std::size_t count;
  std::size_t size() const { return count; }
  std::vector<float> at(const data::Key& key) const { return std::vector<float>(64, static_cast<float>(key.index)); }
  std::string name() const { return "records"; }
};
auto pipeline(std::size_t count) {
  return Records{count} | data::map([](std::vector<float> x, const data::Key& key) {
           for (float& value : x) value += static_cast<float>(key.bits(0) % 2);
           return x;
         }) |
         data::samples([](const std::vector<float>& x, Sample<float, float> sample) {
           data::put(sample.input, x);
           data::put(sample.target, std::accumulate(x.begin(), x.end(), 0.0f));
         });
}
using Pipeline = decltype(pipeline(1));
constexpr SampleShape shape{.input = 64, .target = 1};

}  // namespace

TEST_CASE("the loader states the bytes that it has allocated") {
  const Pipeline source = pipeline(1000);
  for (const std::size_t workers : {0u, 1u, 3u}) {
    for (const std::size_t ahead : {1u, 4u}) {
      const std::size_t before = live;
      Loader<float, float, Pipeline> loader(source, shape, {.batch = 10, .workers = workers, .ahead = ahead});
      if (workers == 0) {
        CHECK(live - before == loader.bytes());
        CHECK(loader.bytes() >= 10 * 65 * sizeof(float));
        (void)loader.next();
        CHECK(live - before == loader.bytes());
      } else {
        CHECK(loader.bytes() >= (ahead + 1) * 10 * 65 * sizeof(float));
        CHECK(loader.bytes() <= (ahead + 1) * (10 * 65 * sizeof(float) + 256) + 256);
      }
      const std::size_t staged =
          data::staged_bytes<float, float>(shape, {.batch = 10, .workers = workers, .ahead = ahead});
      CHECK(staged == (workers == 0 ? 1 : ahead + 1) * 10 * 65 * sizeof(float));
      CHECK(loader.bytes() >= staged);
      CHECK(loader.bytes() <= staged + (ahead + 1) * 256 + 256);
    }
  }
}

// ---- a global batch of 4096 samples of 1 MiB, a label of 4 bytes included: 4 GiB in one process, 0.5 GiB on each of eight
// ranks that read their shares

namespace {

constexpr SampleShape mebibyte{.input = (std::size_t{1} << 18) - 1, .target = 1};
constexpr std::size_t staged_on(std::size_t ranks, const SampleShape& sample, std::size_t workers = 0) {
  return data::staged_bytes<float, std::int32_t>(
      sample, {.batch = 4096 / ranks, .workers = workers, .rank = ranks - 1, .ranks = ranks});
}
static_assert(staged_on(1, mebibyte) == std::size_t{4} << 30);
static_assert(staged_on(8, mebibyte) == std::size_t{1} << 29);
static_assert(staged_on(1, mebibyte, 1) == 3 * staged_on(1, mebibyte) && staged_on(8, mebibyte, 4) == 3 << 29);
template <std::size_t values>
concept Countable = requires {
  typename std::integral_constant<std::size_t,
                                  data::staged_bytes<float, float>({.input = values, .target = 1}, {.batch = 1024})>;
};
static_assert(Countable<1000> && !Countable<(std::size_t{1} << 52)>);

struct Numbers {
  std::size_t size(const SampleShape&) const { return 4096; }
  void read(std::size_t index, Sample<float, std::int32_t> sample) const {
    std::fill(sample.input.begin(), sample.input.end(), static_cast<float>(index));
    sample.target[0] = static_cast<std::int32_t>(index);
  }
};

}  // namespace

TEST_CASE("eight ranks stage an eighth each of what one process stages, as computed, and read each sample once") {
  constexpr SampleShape kibibyte{.input = 255, .target = 1};
  static_assert(staged_on(1, kibibyte) == std::size_t{4} << 20);
  using Ranks = Loader<float, std::int32_t, Numbers>;
  std::vector<int> read(4096);
  for (const std::size_t ranks : {1u, 8u}) {
    std::fill(read.begin(), read.end(), 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t before = live;
      Ranks loader({}, kibibyte, {.batch = 4096 / ranks, .epochs = 1, .workers = 0, .rank = rank, .ranks = ranks});
      const std::size_t taken = live - before, staged = staged_on(ranks, kibibyte);
      CHECK(taken == loader.bytes());
      CHECK(taken >= staged);
      CHECK(taken < staged + 256);
      most = live.load();
      while (const auto batch = loader.next())
        for (const std::int32_t index : batch.target) ++read[static_cast<std::size_t>(index)];
      CHECK(most <= before + taken);
    }
    CHECK(std::all_of(read.begin(), read.end(), [](int times) { return times == 1; }));
  }
}

TEST_CASE("stages state the bytes that they have allocated") {
  constexpr std::size_t records = 10'000;
  const auto reader = Records{records};
  const auto grows = [&](const auto& make, const auto& use) {
    const std::size_t before = live;
    const auto stage = make();
    use(stage);
    const std::size_t stated = data::bytes(stage), taken = live - before;
    INFO(stage.name() << ": stated " << stated << ", taken " << taken);
    CHECK(stated <= taken);
    CHECK(taken <= stated + 4096);  // names, a meter for each stage, the blocks of shared pointers, 64 locks
  };
  const auto nothing = [](const auto&) {};
  const auto read_all = [](const auto& stage) {
    for (std::size_t i = 0; i < stage.size(); ++i) (void)stage.at({.index = i});
  };
  grows([&] { return reader | data::cache(); }, nothing);
  grows([&] { return reader | data::cache(); }, read_all);
  grows([&] { return reader | data::filter([](const std::vector<float>& x) { return int(x[0]) % 3 != 0; }); }, nothing);
  grows([&] { return reader | data::by_length([](const std::vector<float>& x) { return std::size_t(x[0]) % 7; }); },
        nothing);
  grows([&] { return reader | data::map([](std::vector<float> x) { return x; }); }, read_all);
}

TEST_CASE("memory is the same after a few and after many records") {
  constexpr std::size_t records = 100'000, batch = 50;
  const Pipeline source = pipeline(records);
  for (const std::size_t workers : {0u, 3u}) {
    Loader<float, float, Pipeline> loader(source, shape, {.batch = batch, .epochs = 1, .workers = workers, .ahead = 4});
    for (int i = 0; i < 100; ++i) REQUIRE(loader.next());
    // What each worker holds of one value at most: a vector in the reader, moved on.
    const std::size_t early = loader.bytes(), values = (workers + 1) * 2 * 64 * sizeof(float), bound = live + values;
    most = live.load();
    std::size_t batches = 100;
    while (loader.next()) ++batches;
    CHECK(batches == records / batch);
    CHECK(most <= bound);
    CHECK(loader.bytes() == early);
  }
}

// ---- files

namespace {

enum class Kind { records, csv, tar };

/// So many small records of one kind, in a file.
std::string write(const ::test::Directory& folder, Kind kind, std::size_t count) {
  std::string path = folder / "file";
  const auto number = [](std::size_t i) { return "record " + std::to_string(i); };
  if (kind == Kind::records) {
    data::RecordWriter writer(path);
    for (std::size_t i = 0; i < count; ++i) writer.write(number(i));
    writer.commit();
  } else if (kind == Kind::csv) {
    data::CsvWriter writer(path, {"number", "text"});
    for (std::size_t i = 0; i < count; ++i) writer.write(float(i), number(i));
    writer.commit();
  } else {
    data::TarWriter writer(path);
    for (std::size_t i = 0; i < count; ++i) writer.write(std::to_string(i), "txt", number(i));
    writer.commit();
  }
  return path;
}

/// Memory of this process that is no file's, in bytes.
std::size_t resident() {
  std::size_t kilobytes = 0;
  if (std::FILE* const file = std::fopen("/proc/self/status", "r")) {
    for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;)
      if (std::sscanf(line, "RssAnon: %zu kB", &kilobytes) == 1) break;
    std::fclose(file);
  }
  return kilobytes * 1024;
}

/// Bytes that were allocated at most in each half of an epoch, and memory at the end of each.
struct Halves {
  std::size_t first = 0, second = 0, resident_first = 0, resident_second = 0;
};
template <class Dataset, class Text>
Halves read_epoch(const Dataset& dataset, const Text& text, std::size_t workers) {
  const auto whole = dataset | data::map(text, "text") | data::shuffle(3) |
                     data::map([](std::string x, const data::Key& key) {
                       x += static_cast<char>('0' + key.bits(0) % 10);
                       return x + std::string(100, ' ');  // more than a short string holds in place
                     }) |
                     data::samples([](const std::string& x, Sample<float, float> sample) {
                       for (std::size_t i = 0; i < 16; ++i) sample.input[i] = float(x[i]);
                       sample.target[0] = float(x[7]);
                     });
  using OfFile = std::remove_const_t<decltype(whole)>;
  Loader<float, float, OfFile> loader(whole, {.input = 16, .target = 1},
                                      {.batch = 50, .epochs = 1, .workers = workers, .ahead = 4});
  const auto read_until = [&](std::uint64_t end) {
    most = live.load();
    while (loader.step() < end) REQUIRE(loader.next());
    return most.load();
  };
  Halves halves;
  halves.first = read_until(loader.steps() / 2);
  halves.resident_first = resident();
  halves.second = read_until(loader.steps());
  halves.resident_second = resident();
  CHECK_FALSE(loader.next());
  return halves;
}
Halves read_file(Kind kind, const std::string& path, std::size_t workers) {
  const auto whole = [](std::span<const std::byte> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  if (kind == Kind::records)
    return read_epoch(data::Records(path), [=](const data::Record& x) { return whole(x.bytes); }, workers);
  if (kind == Kind::csv)
    return read_epoch(
        data::Csv<float, std::string>(path, {"number", "text"}),
        [](const std::tuple<float, std::string>& x) { return std::get<1>(x); }, workers);
  return read_epoch(data::Tar(path), [=](const data::TarSample& x) { return whole(x.part("txt")); }, workers);
}

}  // namespace

TEST_CASE("reading files takes no more memory in the second half of an epoch than in the first") {
  for (const Kind kind : {Kind::records, Kind::csv, Kind::tar}) {
    const ::test::Directory folder;
    const std::string path = write(folder, kind, 20'000);
    for (const std::size_t workers : {0u, 3u}) {
      INFO("kind " << int(kind) << ", " << workers << " workers");
      const Halves halves = read_file(kind, path, workers);
      // Who reads holds a few values of at most 200 bytes; one byte that stays of each of 10,000 records would be more.
      CHECK(halves.second <= halves.first + (workers + 1) * 2048);
    }
  }
}

TEST_CASE("a million records", "[.million]") {
  for (const Kind kind : {Kind::records, Kind::csv, Kind::tar}) {
    const ::test::Directory folder;
    const std::string path = write(folder, kind, 1'000'000);
    for (const std::size_t workers : {0u, 3u}) {
      const Halves halves = read_file(kind, path, workers);
      std::printf(
          "%s, %zu workers: allocated at most %zu bytes in the first half, %zu in the second; resident %zu and %zu\n",
          kind == Kind::records ? "TFRecord"
          : kind == Kind::csv   ? "CSV"
                                : "tar",
          workers, halves.first, halves.second, halves.resident_first, halves.resident_second);
      CHECK(halves.second <= halves.first + (workers + 1) * 2048);
      CHECK(halves.resident_second <= halves.resident_first + (std::size_t{1} << 20));  // 2 bytes of each record
    }
  }
}
