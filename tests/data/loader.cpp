// The loader: its order does not depend on its threads, it resumes anywhere, it ends cleanly at any moment.
#include <regimen/data/loader.hpp>

#include <regimen/data/fake.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/data/text.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <tuple>

using namespace regimen;
using test::error_of;
using test::says;

namespace {

/// Input: the index; target: its square. Uneven in time, so that threads overtake one another.
struct Numbers {
  std::size_t count;
  std::size_t size(const SampleShape&) const { return count; }
  void read(std::size_t index, Sample<std::int32_t, float> sample) const {
    if (index % 7 == 3) std::this_thread::sleep_for(std::chrono::microseconds(50));
    sample.input[0] = static_cast<std::int32_t>(index);
    sample.target[0] = static_cast<float>(index) * static_cast<float>(index);
  }
};

using NumberLoader = Loader<std::int32_t, float, Numbers>;
using Record = std::tuple<std::uint64_t, std::uint64_t, std::vector<std::int32_t>, std::vector<float>>;

constexpr SampleShape one{.input = 1, .target = 1};

std::vector<Record> take(NumberLoader& loader, std::size_t batches) {
  std::vector<Record> records;
  while (batches-- > 0) {
    const auto batch = loader.next();
    if (!batch) break;
    records.emplace_back(batch.step, batch.epoch, std::vector<std::int32_t>(batch.input.begin(), batch.input.end()),
                         std::vector<float>(batch.target.begin(), batch.target.end()));
  }
  return records;
}

std::vector<std::size_t> sizes(const std::vector<Record>& records) {
  std::vector<std::size_t> result;
  for (const Record& record : records) result.push_back(std::get<2>(record).size());
  return result;
}

struct Broken {
  std::size_t at;
  std::string name() const { return "broken.bin"; }
  std::size_t size(const SampleShape&) const { return 100; }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    if (index == at) throw Error("broken.bin, sample " + std::to_string(index), "a sample", "a hole");
    sample.input[0] = sample.target[0] = static_cast<std::int32_t>(index);
  }
};

}  // namespace

TEST_CASE("batches do not depend on the number of workers, nor on how far they read ahead") {
  for (const Order order : {Order::Shuffled, Order::Random, Order::Sequential}) {
    for (const Remainder remainder : {Remainder::Short, Remainder::Drop, Remainder::Wrap}) {
      const LoaderOptions options{
          .batch = 8, .order = order, .remainder = remainder, .seed = 5, .epochs = 3, .workers = 0};
      NumberLoader plain(Numbers{45}, one, options);
      const std::vector<Record> expected = take(plain, 1000);
      REQUIRE(expected.size() == plain.steps());
      for (const std::size_t workers : {1u, 2u, 4u, 7u}) {
        for (const std::size_t ahead : {1u, 3u, 20u}) {
          LoaderOptions many = options;
          many.workers = workers, many.ahead = ahead;
          NumberLoader loader(Numbers{45}, one, many);
          REQUIRE(take(loader, 1000) == expected);
          REQUIRE_FALSE(loader.next());
        }
      }
    }
  }
}

TEST_CASE("a loader that begins at the place of another goes on with its batches") {
  for (const Order order : {Order::Shuffled, Order::Random, Order::Sequential, Order::Runs}) {
    for (const Remainder remainder : {Remainder::Short, Remainder::Drop, Remainder::Wrap}) {
      LoaderOptions options{.batch = 6, .order = order, .remainder = remainder, .seed = 2, .epochs = 4, .workers = 2};
      NumberLoader whole(Numbers{20}, one, options);
      const std::vector<Record> all = take(whole, 1000);
      REQUIRE(all.size() == whole.steps());
      for (std::size_t from = 0; from <= all.size(); ++from) {
        NumberLoader first(Numbers{20}, one, options);
        take(first, from);
        LoaderOptions later = options;
        later.first = first.place();
        NumberLoader resumed(Numbers{20}, one, later);
        REQUIRE(resumed.place() == first.place());
        REQUIRE(resumed.steps() == all.size() - from);
        std::vector<Record> rest = take(resumed, 1000);
        for (Record& record : rest) std::get<0>(record) += from;  // batches are counted from where a loader begins
        REQUIRE(rest == std::vector<Record>(all.begin() + static_cast<std::ptrdiff_t>(from), all.end()));
      }
      options.first = {.epoch = ~std::uint64_t{0}, .samples = 3};
      NumberLoader none(Numbers{20}, one, options);
      REQUIRE_FALSE(none.next());
    }
  }
}

TEST_CASE("whatever batches and ranks go on, every sample comes once an epoch") {
  struct Reader {
    std::size_t batch, ranks;
  };
  const std::vector<Reader> readers{{6, 1}, {4, 1}, {100, 1}, {1, 1}, {3, 3}, {9, 2}, {25, 1}};
  for (const Order order : {Order::Shuffled, Order::Sequential, Order::Runs}) {
    for (const Remainder remainder : {Remainder::Short, Remainder::Wrap}) {
      for (std::size_t trial = 0; trial < 60; ++trial) {
        DataPlace place;
        std::vector<int> seen(50);
        for (std::size_t leg = 0;; ++leg) {
          const Reader reader = readers[regimen::Philox::mix(trial, leg) % readers.size()];
          const bool is_last = leg == 5;
          DataPlace next = place;
          for (std::size_t rank = 0; rank < reader.ranks; ++rank) {
            NumberLoader loader(Numbers{50}, one,
                                {.batch = reader.batch,
                                 .order = order,
                                 .remainder = remainder,
                                 .seed = 2,
                                 .first = place,
                                 .epochs = 4,
                                 .workers = 0,
                                 .rank = rank,
                                 .ranks = reader.ranks});
            for (const Record& record : take(loader, is_last ? 1000 : regimen::Philox::mix(trial, 100 + leg) % 4))
              for (const std::int32_t index : std::get<2>(record)) ++seen[static_cast<std::size_t>(index)];
            REQUIRE((rank == 0 || loader.place() == next));
            next = loader.place();
          }
          place = next;
          if (remainder == Remainder::Short || place.samples == 0) {  // within an epoch: none twice
            const auto epoch = static_cast<int>(place.epoch);
            REQUIRE(std::all_of(seen.begin(), seen.end(), [&](int count) {
              return count == epoch || (place.samples > 0 && count == epoch + 1);
            }));
            REQUIRE(std::accumulate(seen.begin(), seen.end(), 0) == epoch * 50 + static_cast<int>(place.samples));
          }
          if (is_last) break;
        }
        REQUIRE(place.epoch == 4);
        REQUIRE(seen == std::vector<int>(50, 4));
      }
    }
  }
}

TEST_CASE("what is left of an epoch is dropped when it does not fill a batch of those who go on") {
  NumberLoader loader(Numbers{20}, one,
                      {.batch = 8, .remainder = Remainder::Drop, .first = {.epoch = 1, .samples = 15}, .epochs = 3});
  REQUIRE(loader.place() == DataPlace{.epoch = 2, .samples = 0, .run = 8});
  REQUIRE(sizes(take(loader, 100)) == std::vector<std::size_t>{8, 8});
}

TEST_CASE("a place that an older file counts in batches is the same place in samples") {
  for (const std::size_t size : {1u, 19u, 20u, 21u, 600u})
    for (const std::size_t together : {1u, 6u, 20u, 512u})
      for (std::uint64_t batches = 0; batches < 12; ++batches) {
        NumberLoader loader(Numbers{size}, one, {.batch = together, .workers = 0});
        take(loader, batches);
        const DataPlace old{.run = together, .batches = batches};
        const DataPlace place = NumberLoader(Numbers{size}, one, {.batch = 7, .first = old, .workers = 0}).place();
        REQUIRE(place.epoch == loader.place().epoch);
        REQUIRE(place.samples == loader.place().samples);
      }
}

TEST_CASE("remainders: short, dropped, or filled from the next epoch") {
  const auto batches = [](std::size_t count, Remainder remainder, std::uint64_t epochs, Order order = Order::Shuffled) {
    NumberLoader loader(Numbers{count}, one, {.batch = 4, .order = order, .remainder = remainder, .epochs = epochs});
    return take(loader, 100);
  };
  using Sizes = std::vector<std::size_t>;
  REQUIRE(sizes(batches(10, Remainder::Short, 2)) == Sizes{4, 4, 2, 4, 4, 2});
  REQUIRE(sizes(batches(10, Remainder::Drop, 2)) == Sizes{4, 4, 4, 4});
  REQUIRE(sizes(batches(10, Remainder::Wrap, 3)) == Sizes{4, 4, 4, 4, 4, 4, 4, 2});
  REQUIRE(sizes(batches(3, Remainder::Wrap, 3)) == Sizes{4, 4, 1});
  REQUIRE(sizes(batches(3, Remainder::Short, 2)) == Sizes{3, 3});
  REQUIRE(sizes(batches(10, Remainder::Short, 1, Order::Random)) == Sizes{4, 4, 4});
  REQUIRE(sizes(batches(3, Remainder::Drop, 2, Order::Random)) == Sizes{4, 4});
  REQUIRE(says(error_of([&] { batches(3, Remainder::Drop, 1); }),
               "the data source: expected at least one batch of 4 samples, found 3 samples"));
  for (const Remainder remainder : {Remainder::Short, Remainder::Wrap}) {  // each sample once an epoch
    std::vector<int> counts(10);
    for (const Record& record : batches(10, remainder, 3)) {
      for (const std::int32_t index : std::get<2>(record)) ++counts[static_cast<std::size_t>(index)];
    }
    REQUIRE(counts == std::vector<int>(10, 3));
  }
  const std::vector<Record> ordered = batches(6, Remainder::Short, 1, Order::Sequential);
  REQUIRE(std::get<2>(ordered[1]) == std::vector<std::int32_t>{4, 5});
  REQUIRE(std::get<3>(ordered[1]) == std::vector<float>{16, 25});
}

TEST_CASE("short batches are named before they come") {
  for (const Order order : {Order::Shuffled, Order::Random})
    for (const Remainder remainder : {Remainder::Short, Remainder::Drop, Remainder::Wrap})
      for (std::uint64_t size = 1; size <= 9; ++size)
        for (std::uint64_t batch = 1; batch <= 5; ++batch)
          for (std::uint64_t epochs = 0; epochs <= 3; ++epochs)
            for (std::uint64_t samples = 0; samples < size; ++samples)
              for (std::uint64_t most = 0; most <= 40; most += most < 6 ? 1 : 17) {
                const Batching batching(size, batch, order, remainder, epochs, {.epoch = 1, .samples = samples});
                std::set<std::uint64_t> named, found;
                batching.for_each_short(most, [&](std::uint64_t n) { named.insert(n); });
                for (std::uint64_t n = 0; n < std::min(most, batching.batches()); ++n)
                  if (batching.samples(n) != batch) found.insert(batching.samples(n));
                CAPTURE(int(order), int(remainder), size, batch, epochs, samples, most);
                REQUIRE(named == found);
              }
}

TEST_CASE("a batch stays whole until the next is asked for") {
  NumberLoader loader(Numbers{1000}, one, {.batch = 10, .workers = 4, .ahead = 3});
  for (int step = 0; step < 50; ++step) {
    const auto batch = loader.next();
    const std::vector<std::int32_t> copy(batch.input.begin(), batch.input.end());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    REQUIRE(std::equal(copy.begin(), copy.end(), batch.input.begin()));
  }
}

namespace {
/// Slow from a sample on, so that a consumer begins to wait there.
struct SlowLater {
  std::size_t from;
  std::size_t size(const SampleShape&) const { return 240; }
  void read(std::size_t index, Sample<std::int32_t, float> sample) const {
    Numbers{240}.read(index, sample);
    if (index >= from) std::this_thread::sleep_for(std::chrono::microseconds(500 + 300 * (index % 3)));
  }
};
}  // namespace

TEST_CASE("batches have their contents while the ring grows under a consumer who waits") {
  for (std::size_t first = 0; first < 12; ++first) {  // the batch at which it grows lies anywhere in the ring
    LoaderOptions options{.batch = 4, .order = Order::Sequential, .epochs = 1, .workers = data::automatic, .ahead = 1};
    Loader<std::int32_t, float, SlowLater> loader(SlowLater{4 * first}, one, options);
    std::int32_t next = 0;
    std::size_t grown = 0;  // batches after it grew
    for (auto batch = loader.next(); batch; batch = loader.next()) {
      INFO("slow from batch " << first << ", batch " << batch.step);
      REQUIRE(batch.step == static_cast<std::uint64_t>(next / 4));
      for (std::size_t i = 0; i < 4; ++i, ++next) {
        REQUIRE(batch.input[i] == next);
        REQUIRE(batch.target[i] == static_cast<float>(next) * static_cast<float>(next));
      }
      grown += loader.workers() > 1 ? 1 : 0;
    }
    REQUIRE(next == 240);
    CHECK(grown > 4);
    CHECK(loader.ahead() >= 2);
  }
}

TEST_CASE("a loader may end at any moment") {
  for (std::size_t taken = 0; taken < 12; ++taken) {
    for (const std::size_t workers : {0u, 1u, 4u}) {
      NumberLoader loader(Numbers{30}, one, {.batch = 7, .epochs = 2, .workers = workers});
      REQUIRE(take(loader, taken).size() == std::min<std::size_t>(taken, 10));
    }
  }
}

TEST_CASE("what a source throws reaches next(), at its batch, with its text, and again") {
  for (const std::size_t workers : {0u, 1u, 4u}) {
    Loader<std::int32_t, std::int32_t, Broken> loader(Broken{25}, one,
                                                      {.batch = 10, .order = Order::Sequential, .workers = workers});
    REQUIRE(loader.next().input[9] == 9);
    REQUIRE(loader.next().input[9] == 19);
    for (int i = 0; i < 2; ++i)
      REQUIRE(error_of([&] { (void)loader.next(); }) == "broken.bin, sample 25: expected a sample, found a hole");
    REQUIRE(loader.step() == 2);
  }
}

TEST_CASE("ids outside the model's bounds are refused with the sample and the file") {
  const auto refusal = [](std::size_t bound, std::size_t classes) {
    const SampleShape shape{.input = 1, .target = 1, .vocabulary_or_classes = bound, .classes = classes};
    Loader<std::int32_t, std::int32_t, Broken> loader(Broken{100}, shape, {.batch = 100, .order = Order::Sequential});
    return error_of([&] { (void)loader.next(); });
  };
  REQUIRE(refusal(100, 0).empty());
  REQUIRE(says(refusal(50, 0), "broken.bin, sample 50: expected an input of at least 0 and below 50"));
  REQUIRE(says(refusal(100, 3), "broken.bin, sample 3: expected a target of at least 0 and below 3"));
  const auto target = [](std::int32_t value) {
    Loader<float, std::int32_t, Rows<float, std::int32_t>> loader(
        {{1}, {value}, 1}, {.input = 1, .target = 1, .vocabulary_or_classes = 10}, {});
    return error_of([&] { (void)loader.next(); });
  };
  REQUIRE(target(ignore_index).empty());
  REQUIRE(target(9).empty());
  REQUIRE(says(target(-1), "found -1"));
  REQUIRE(says(target(10), "Rows, sample 0"));
}

TEST_CASE("empty sources and empty batches are refused") {
  REQUIRE(says(error_of([] { NumberLoader(Numbers{0}, one, {}); }), "expected at least one sample"));
  REQUIRE(says(error_of([] { NumberLoader(Numbers{1}, one, {.batch = 0}); }),
               "Loader: expected a batch of at least one sample"));
  REQUIRE(says(error_of([] { NumberLoader(Numbers{1}, {.input = 1ull << 40, .target = 1}, {.batch = 1ull << 40}); }),
               "a batch that fits memory"));
}

TEST_CASE("text through a loader gives windows, blocks the whole split once") {
  const Text text = Text::from_string("the quick brown fox jumps over the lazy dog", Text::Characters);
  const SampleShape shape{.input = 8, .target = 8, .vocabulary_or_classes = text.vocabulary()};
  Loader<std::int32_t, std::int32_t, Text> random(text, shape, {.batch = 4, .order = Order::Random});
  for (int step = 0; step < 20; ++step) {
    const auto batch = random.next();
    REQUIRE(batch.samples == 4);
    REQUIRE(batch.input[1] == batch.target[0]);
  }
  std::size_t targets = 0;
  Loader<std::int32_t, std::int32_t, Text> whole(text.blocks(), shape,
                                                 {.batch = 4, .order = Order::Sequential, .epochs = 1});
  for (auto batch = whole.next(); batch; batch = whole.next()) {
    for (const std::int32_t target : batch.target) targets += target != ignore_index;
  }
  REQUIRE(targets == text.length() - 1);
}
