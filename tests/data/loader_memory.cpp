// The loader's bytes are those that it has allocated, and do not grow with the records that it reads.
#include <regimen/data/loader.hpp>
#include <regimen/data/pipeline.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
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
    }
  }
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
