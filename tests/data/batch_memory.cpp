// A loader whose batches lie in memory of somebody else: nothing is written there while it may still be read.
#include <regimen/data/batch_memory.hpp>

#include <regimen/data/loader.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

using namespace regimen;

namespace {

/// Input: the index and 31 numbers of it; target: its negative. A thousandth of a second for some, so that automatic
/// workers become more.
struct Numbers {
  std::size_t count = 0;
  bool is_slow = false;
  std::size_t size(const SampleShape&) const { return count; }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    if (is_slow || index % 11 == 3) std::this_thread::sleep_for(std::chrono::microseconds(is_slow ? 500 : 50));
    for (std::size_t i = 0; i < sample.input.size(); ++i) sample.input[i] = static_cast<std::int32_t>(index * (i + 1));
    sample.target[0] = -static_cast<std::int32_t>(index);
  }
};
using NumberLoader = Loader<std::int32_t, std::int32_t, Numbers>;
constexpr SampleShape shape{.input = 32, .target = 1};

/// Reads a batch as late as it may: in `wait`. Until then it has to be what it was when the reading began.
class LateReader final : public data::BatchMemory {
 public:
  Place take(std::size_t input, std::size_t target) override {
    blocks_.push_back(std::make_unique<Block>(
        Block{.input = std::vector<std::byte>(input), .target = std::vector<std::byte>(target)}));
    ++taken;
    return {blocks_.back()->input.data(), blocks_.back()->target.data()};
  }
  void wait(const Place& place) override {
    Block& block = block_of(place.input);
    CHECK(place.target == block.target.data());
    if (!block.is_read) return;
    changed += block.input != block.input_before || block.target != block.target_before;
    block.is_read = false;
    --on_their_way;
  }
  void give_back(const Place& place) noexcept override {
    given_back += block_of(place.input).input.data() == place.input;
  }

  /// From here on until its wait something reads the batch.
  void begin_reading(const void* input) {
    Block& block = block_of(input);
    given_early += block.is_read;
    block.is_read = true;
    block.input_before = block.input;
    block.target_before = block.target;
    most_on_their_way = (std::max)(most_on_their_way, ++on_their_way);
  }

  std::size_t taken = 0, given_back = 0, changed = 0, given_early = 0, on_their_way = 0, most_on_their_way = 0;

 private:
  struct Block {
    std::vector<std::byte> input, target, input_before{}, target_before{};
    bool is_read = false;
  };
  Block& block_of(const void* input) {
    for (const auto& block : blocks_)
      if (block->input.data() == input) return *block;
    FAIL("a place that was not taken");
    return *blocks_[0];
  }
  std::vector<std::unique_ptr<Block>> blocks_;
};

std::vector<std::int32_t> values(const NumberLoader::Batch& batch) {
  std::vector<std::int32_t> all(batch.input.begin(), batch.input.end());
  all.insert(all.end(), batch.target.begin(), batch.target.end());
  return all;
}

}  // namespace

TEST_CASE("a batch is written over only when nothing reads it any more") {
  for (const std::size_t workers : {std::size_t{0}, std::size_t{1}, std::size_t{3}})
    for (const std::size_t ahead : {1u, 2u, 5u}) {
      CAPTURE(workers, ahead);
      const LoaderOptions options{.batch = 4, .seed = 3, .epochs = 3, .workers = workers, .ahead = ahead};
      NumberLoader plain(Numbers{45}, shape, options);
      LateReader memory;
      {
        NumberLoader late(Numbers{45}, shape, options, &memory);
        CHECK(late.workers() == plain.workers());
        CHECK(late.ahead() == plain.ahead());
        CHECK(memory.taken == plain.ahead() + 2);  // the one in use, and the one on its way
        CHECK(late.bytes() < plain.bytes());       // those batches are not its own
        for (;;) {
          const auto expected = plain.next(), found = late.next();
          REQUIRE(found.exists == expected.exists);
          if (!found) break;
          REQUIRE(values(found) == values(expected));
          memory.begin_reading(found.input.data());
        }
        CHECK(memory.on_their_way == 0);  // at the end all have been waited for
        CHECK(memory.given_back == 0);
      }
      CHECK(memory.changed == 0);
      CHECK(memory.given_early == 0);
      CHECK(memory.most_on_their_way == 2);  // while one is on its way, the next one begins
      CHECK(memory.given_back == memory.taken);
    }
}

TEST_CASE("automatic workers take further places, and read no batch into one that is read") {
  LateReader memory;
  {
    NumberLoader loader(Numbers{2000, true}, shape,
                        {.batch = 4, .order = Order::Sequential, .epochs = 1, .workers = data::automatic}, &memory);
    std::int32_t next = 0;
    for (auto batch = loader.next(); batch; batch = loader.next()) {
      for (const std::int32_t target : batch.target) REQUIRE(target == -next++);
      memory.begin_reading(batch.input.data());
    }
    CHECK(next == 2000);
    CHECK(loader.ahead() >= loader.workers());
    CHECK(memory.taken == loader.ahead() + 2);
  }
  CHECK(memory.changed == 0);
  CHECK(memory.given_early == 0);
  CHECK(memory.given_back == memory.taken);
}

TEST_CASE("a loader that ends early gives its places back without a wait") {
  LateReader memory;
  {
    NumberLoader loader(Numbers{45}, shape, {.batch = 4, .workers = 2}, &memory);
    for (int i = 0; i < 2; ++i) memory.begin_reading(loader.next().input.data());
  }
  CHECK(memory.on_their_way == 2);
  CHECK(memory.given_back == memory.taken);
}
