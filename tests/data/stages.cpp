// Stages: the values that their definitions give, whatever reads them; what they refuse; their time and their memory.
#include <regimen/data/augment.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/data/pipeline.hpp>

#include "../temporary.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

using namespace regimen;
using test::error_of;
using test::says;

namespace {

/// Value i is first + i.
struct Numbers {
  std::size_t count;
  int first = 0;
  std::shared_ptr<std::atomic<int>> reads = std::make_shared<std::atomic<int>>(0);
  std::size_t size() const { return count; }
  int at(const data::Key& key) const {
    ++*reads;
    return first + static_cast<int>(key.index);
  }
  std::string name() const { return "numbers"; }
};
using Ints = std::vector<int>;

template <class D>
auto all(const D& dataset, std::uint64_t epoch = 0, std::uint64_t seed = 0) {
  std::vector<data::value_of<D>> values;
  for (std::size_t i = 0; i < dataset.size(); ++i) values.push_back(dataset.at({i, epoch, seed}));
  return values;
}

const auto square = [](int x) { return x * x; };
const auto draw = [](int, const data::Key& key) { return key.bits(0); };

}  // namespace

TEST_CASE("map, take, skip and filter give what they say, in both notations") {
  CHECK(all(Numbers{4} | data::map(square)) == Ints{0, 1, 4, 9});
  CHECK(all(data::map(Numbers{4}, square)) == Ints{0, 1, 4, 9});
  CHECK(all(Numbers{9} | data::skip(2) | data::take(3)) == Ints{2, 3, 4});
  CHECK(all(data::take(data::skip(Numbers{9}, 2), 3)) == Ints{2, 3, 4});
  const auto is_odd = [](int x) { return x % 2; };
  CHECK(all(Numbers{7} | data::filter(is_odd) | data::map(square)) == Ints{1, 9, 25});
  CHECK(all(data::filter(Numbers{7}, is_odd, {.workers = 1})) == Ints{1, 3, 5});
  const auto evens =
      Numbers{5} | data::map([](int x) { return 256 * (x % 2 == 0); }) | data::filter([](int x) { return x; });
  CHECK(evens.size() == 3);
  CHECK((Numbers{0} | data::filter(is_odd)).size() == 0);
  CHECK(says(error_of([] { (void)(Numbers{9} | data::take(10)); }),
             "numbers | take: expected at least 10 values, found 9"));
  CHECK(says(error_of([] { (void)(Numbers{9} | data::skip(10)); }), "numbers | skip: expected at least 10 values"));
}

TEST_CASE("shuffle is one permutation, the same in every epoch, and another for each seed") {
  for (const std::size_t size : {0u, 1u, 2u, 63u, 1000u}) {
    const auto shuffled = Numbers{size} | data::shuffle(3);
    Ints values = all(shuffled);
    CHECK(values == all(shuffled, 7, 9));
    const Ints other = all(Numbers{size} | data::shuffle(4));
    CHECK((values == other) == (size < 3));
    std::sort(values.begin(), values.end());
    CHECK(values == all(Numbers{size}));
  }
}

TEST_CASE("split: the last share, or by what a value is") {
  const auto [train, validation] = Numbers{10} | data::split(0.75);
  CHECK(all(train) == Ints{0, 1, 2, 3, 4, 5, 6});
  CHECK(all(validation) == Ints{7, 8, 9});
  CHECK(validation.name() == "numbers | validation");
  for (const double fraction : {0.0, 1.0, -1.0, std::nan("")})
    CHECK(says(error_of([&] { (void)(Numbers{10} | data::split(fraction)); }), "a fraction between 0 and 1"));

  const auto patient = [](int x) { return "patient " + std::to_string(x / 10); };
  const auto few = data::split(Numbers{3000}, 0.8, patient), more = Numbers{5000} | data::split(0.8, patient);
  std::set<int> patients_of_validation;
  for (const int x : all(few.validation)) patients_of_validation.insert(x / 10);
  for (const int x : all(few.train)) CHECK(patients_of_validation.count(x / 10) == 0);
  CHECK(few.train.size() + few.validation.size() == 3000);
  const Ints later = all(more.validation);
  for (const int x : all(few.validation)) CHECK(std::binary_search(later.begin(), later.end(), x));
  // 300 patients fall as 300 independent draws would: mean 240, deviation √(300 · 0.8 · 0.2) < 7.
  CHECK(std::abs(double(few.train.size()) / 10 - 240) < 6 * 7);
  CHECK(few.train.size() % 10 == 0);
}

TEST_CASE("by_length orders values by length, and keeps the order of those of equal length") {
  const auto halves = Numbers{5} | data::by_length([](auto x) { return 0.5 - 0.1 * double(x); });
  for (std::size_t i = 0; i < 5; ++i) CHECK(double(halves.at({i})) == double(Numbers{5}.at({4 - i})));
  CHECK(says(error_of([] { (void)(Numbers{5} | data::by_length([](auto) { return std::nan(""); })); }), "found NaN"));
  const auto tenths = Numbers{40} | data::map([](int x) { return std::pair(x * 7 % 40 / 10, x); }) |
                      data::by_length([](const std::pair<int, int>& x) { return x.first; });
  const auto values = all(tenths);
  CHECK(values.size() == 40);
  CHECK(std::is_sorted(values.begin(), values.end()));
  // With Order::Runs the lengths of a batch are neighbours.
  const auto source = tenths | data::samples([](const std::pair<int, int>& x, Sample<float, float> sample) {
                        sample.input[0] = sample.target[0] = static_cast<float>(x.first);
                      });
  Loader<float, float, decltype(source)> loader(source, {.input = 1, .target = 1},
                                                {.batch = 10, .order = Order::Runs, .seed = 3, .epochs = 2});
  std::vector<float> seen;
  for (auto batch = loader.next(); batch; batch = loader.next()) {
    CHECK(std::all_of(batch.input.begin(), batch.input.end(), [&](float x) { return x == batch.input[0]; }));
    seen.push_back(batch.input[0]);
  }
  CHECK(seen.size() == 8);
  CHECK_FALSE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("joins: one after the other, in turn, by weight") {
  CHECK(all(data::concatenate(Numbers{2}, Numbers{0, 50}, Numbers{3, 100})) == Ints{0, 1, 100, 101, 102});
  CHECK(all(data::concatenate(std::vector{Numbers{2}, Numbers{1, 9}})) == Ints{0, 1, 9});
  CHECK(all(data::interleave(Numbers{4}, Numbers{1, 50}, Numbers{0, 70}, Numbers{2, 100})) ==
        Ints{0, 50, 100, 1, 101, 2, 3});
  CHECK(all(data::interleave(std::vector{Numbers{1}, Numbers{2, 10}, Numbers{2, 20}})) == Ints{0, 10, 20, 11, 21});
  CHECK(data::concatenate(Numbers{2}, Numbers{1} | data::map(square)).name() == "concatenate(numbers, numbers | map)");
  CHECK(data::interleave(std::vector(5, Numbers{1})).name() == "interleave(numbers, numbers, numbers, ... 5)");

  // Mixture, beside a program that draws from each dataset in turn of the pattern, without end.
  const std::array<std::size_t, 3> weights{6, 2, 4};  // as 3, 1, 2
  const auto mixed = data::mixture(weights, Numbers{7}, Numbers{4, 100}, Numbers{5, 200});
  CHECK(mixed.size() == 24);  // 4 values of the second at 1 of 6
  std::map<int, int> seen;
  Ints next{0, 0, 0};
  const Ints sizes{7, 4, 5};
  constexpr int epochs = 3;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    Ints shares{0, 0, 0};
    const Ints values = all(mixed, epoch);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto part = static_cast<std::size_t>(values[i] / 100);
      CHECK(values[i] == static_cast<int>(100 * part) + next[part]++ % sizes[part]);
      ++shares[part], ++seen[values[i]];
      for (std::size_t p = 0; p < 3; ++p)  // spread evenly: never a whole value from the share
        CHECK(std::abs(double(shares[p]) - double(i + 1) * double(weights[p]) / 12) <= 1);
    }
    CHECK(shares == Ints{12, 4, 8});
  }
  for (const auto& [value, count] : seen) {
    const auto part = static_cast<std::size_t>(value / 100);
    const int given = epochs * Ints{12, 4, 8}[part];
    CHECK((count == given / sizes[part] || count == given / sizes[part] + 1));
  }
  CHECK(seen.size() == 16);
  CHECK(says(error_of([] { (void)data::mixture({1, 0}, Numbers{1}, Numbers{1}); }), "mixture, weights"));
  CHECK(says(error_of([] { (void)data::mixture({1, 1}, Numbers{1}, Numbers{0}); }), "mixture, dataset 1"));
  CHECK(says(error_of([] { (void)data::mixture({1, 3'000'000}, Numbers{1}, Numbers{1}); }), "a sum of at most"));
}

/// Shares of n = 4096 samples are within six deviations, at most 6 · 0.5 / 64, of what independent draws give. Of two draws
/// from one key they are 0 or 1.
TEST_CASE("two augmentations of one sample draw by themselves: of a kind, of two kinds, in one stage, in two epochs") {
  constexpr std::size_t count = 4096;
  constexpr double off = 6 * 0.5 / 64;
  using data::Image;
  const auto row = [](int) {
    Image image(1, 17, 1);
    for (std::size_t x = 0; x < 17; ++x) image.row(0)[x] = static_cast<std::uint8_t>(x);
    return image;
  };
  const auto first = [](const Image& image) { return int(image.row(0)[0]); };
  const auto share = [&](const auto& pipeline, auto&& holds) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      found += holds(first(pipeline.at({i, 0, 3})), first(pipeline.at({i, 1, 3})));
    return double(found) / count;
  };
  const auto near = [](double found, double expected) { return std::abs(found - expected) <= off; };
  const auto images = Numbers{count} | data::map(row);
  const auto is_turned = [](int pixel, int) { return pixel != 0; };
  const auto both_differ = [](int one, int other) { return one != other; };
  // Two flips of a sample cancel where both or none turns it.
  const auto flips = images | data::map(data::RandomFlip{}) | data::map(data::RandomFlip{});
  CHECK(near(share(flips, is_turned), 0.5));
  CHECK(near(share(flips, both_differ), 0.5));
  const auto in_one = images | data::map([](const Image& image, const data::Key& key) {
                        return data::RandomFlip{.stage = 1}(data::RandomFlip{}(image, key), key);
                      });
  CHECK(near(share(in_one, is_turned), 0.5));
  // Nine places, then nine of what is left: an even sum in 41 of 81 cases, and in all of one draw.
  const auto crops = images | data::map(data::RandomCrop{.height = 1, .width = 9}) |
                     data::map(data::RandomCrop{.height = 1, .width = 1});
  CHECK(near(share(crops, [](int pixel, int) { return pixel % 2 == 0; }), 41.0 / 81));
  CHECK(
      near(share(crops, [](int one, int other) { return (one + other) % 2 == 0; }), (41.0 * 41 + 40 * 40) / (81 * 81)));
  // A crop whose place is even (0 or 2 of 4) and a flip behind it, from one key: the first pixel is the place, or 1 behind.
  const auto kinds = images | data::map([](const Image& image, const data::Key& key) {
                       const Image part = data::RandomCrop{.height = 1, .width = 14}(image, key);
                       Image two(1, 2, 1);
                       two.row(0)[0] = part.row(0)[0] < 2 ? 0 : 2, two.row(0)[1] = std::uint8_t(two.row(0)[0] + 1);
                       return data::RandomFlip{}(two, key);
                     });
  for (int which = 0; which < 4; ++which)
    CHECK(near(share(kinds, [&](int pixel, int) { return pixel == which; }), 0.25));
}

TEST_CASE(
    "what a stage draws follows from its key: the epoch, the seed, the stage and the part of a join tell it apart") {
  const auto drawn = Numbers{50} | data::map(draw);
  static_assert(data::varies<decltype(drawn)> && !data::varies<Numbers>);
  CHECK(all(drawn, 1, 2) == all(drawn, 1, 2));
  std::set<std::uint64_t> different;
  std::size_t count = 0;
  const auto note = [&](const std::vector<std::uint64_t>& values) {
    different.insert(values.begin(), values.end());
    count += values.size();
  };
  note(all(drawn)), note(all(drawn, 1)), note(all(drawn, 0, 1));
  note(all(Numbers{50} | data::map(square) | data::map(draw)));
  const auto joined = data::concatenate(drawn, drawn);
  static_assert(data::varies<decltype(joined)>);
  note(all(joined));
  CHECK(different.size() == count);
}

TEST_CASE("a cache computes each value once, in any thread, and states its bytes") {
  const Numbers numbers{300};
  const auto cached =
      numbers | data::map([](int x) { return std::vector<float>(static_cast<std::size_t>(x), 1.0f); }) | data::cache();
  static_assert(!data::varies<decltype(cached)>);
  const auto copy = cached | data::skip(0);
  CHECK(data::bytes(cached) == 300 * sizeof(void*));
  std::vector<std::thread> threads;
  std::atomic<std::size_t> sum{0};
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 300; ++i) sum += copy.at({(i + 75 * t) % 300, t, t}).size();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == 4 * 299 * 300 / 2);
  CHECK(*numbers.reads == 300);
  CHECK(&cached.at({7, 0, 0}) == &copy.at({7, 5, 5}));
  CHECK(data::bytes(copy) == 300 * sizeof(void*) + 300 * sizeof(std::vector<float>) + 299 * 300 / 2 * sizeof(float));

  std::atomic<int> calls{0};
  const auto failing = Numbers{3} | data::map([&](int x) {
                         if (calls++ == 0) throw std::runtime_error("a hole");
                         return x;
                       }) |
                       data::cache();
  CHECK(says(error_of([&] { (void)failing.at({2, 0, 0}); }),
             "numbers | map, value 2: expected what its function makes of it, found a hole"));
  CHECK(failing.at({2, 0, 0}) == 2);
  CHECK(failing.at({2, 0, 0}) == 2);
  CHECK(calls == 2);
  const std::string text(100, 'x');
  const auto words =
      Numbers{1} | data::map([&](int) { return std::pair(std::string("short"), std::vector{text}); }) | data::cache();
  (void)words.at({});
  CHECK(data::bytes(words) ==
        sizeof(void*) + sizeof(std::pair<std::string, std::vector<std::string>>) + sizeof(std::string) + text.size());
}

TEST_CASE("an index is made by several threads, says how far it is, and throws the first error") {
  std::vector<std::size_t> heard;
  const data::Report report = [&](const char* what, std::size_t done, std::size_t whole) {
    CHECK(std::string(what) == "filter");
    CHECK(whole == 2000);
    heard.push_back(done);
  };
  const Numbers numbers{2000};
  const auto thirds = numbers | data::filter([](int x) { return x % 3 == 0; }, {.workers = 3, .report = report});
  CHECK(thirds.size() == 667);
  CHECK(all(thirds)[666] == 1998);
  CHECK(*numbers.reads == 2000 + 667);
  CHECK(std::is_sorted(heard.begin(), heard.end()));
  CHECK((!heard.empty() && heard.back() == 2000));
  CHECK(data::bytes(thirds) == 667 * sizeof(std::size_t));
  for (int trial = 0; trial < 20; ++trial)
    CHECK(says(error_of([&] {
                 (void)(numbers | data::filter(
                                      [](int x) -> bool {
                                        if (x == 700 || x > 900) throw Error("p", "a", "b");
                                        return true;
                                      },
                                      {.workers = 4}));
               }),
               "numbers | filter, value 700: "));
}

TEST_CASE("any number of workers makes an index") {
  const auto is_odd = [](int x) { return x % 2 != 0; };
  for (const std::size_t workers :
       {std::size_t{0}, data::automatic, data::automatic - 1, std::size_t{1}, std::size_t{2}})
    CHECK((Numbers{3} | data::filter(is_odd, {.workers = workers})).size() == 1);
  CHECK((Numbers{2000} | data::filter(is_odd, {.workers = data::automatic})).size() == 1000);
}

TEST_CASE("an error names the value of its stage, and where that lies in what is read") {
  struct Lines : Numbers {
    std::string place(const data::Key& key) const { return "numbers.txt, line " + std::to_string(key.index + 1); }
  };
  const auto is_odd = [](int x) { return x % 2 != 0; };
  const auto fails = data::map([](int x) -> int { throw Error("it", "more", std::to_string(x)); });
  const auto refusal = [](const auto& dataset, std::size_t index, std::uint64_t epoch = 0) {
    return error_of([&] { (void)dataset.at({index, epoch, 0}); });
  };
  CHECK(says(refusal(Lines{{9}} | fails, 2), "numbers | map, value 2 (numbers.txt, line 3): expected"));
  CHECK(says(refusal(Numbers{9} | fails, 2), "numbers | map, value 2: expected"));
  CHECK(says(refusal(Numbers{9} | data::filter(is_odd) | fails, 2),
             "numbers | filter | map, value 2 (numbers, value 5): "));
  const auto odd = Lines{{9}} | data::filter(is_odd);
  CHECK(says(refusal(odd | fails, 2), "numbers | filter | map, value 2 (numbers.txt, line 6): "));
  CHECK(says(refusal(odd | data::map(square) | data::cache() | data::skip(1) | fails, 1),
             "value 1 (numbers.txt, line 6): "));
  const auto places = [&](const auto& dataset, std::uint64_t epoch = 0) {
    for (std::size_t i = 0; i < dataset.size(); ++i) {  // a value is its place
      const int value = dataset.at({i, epoch, 0});
      CHECK(says(refusal(dataset | fails, i, epoch),
                 " | map, value " + std::to_string(i) + " (numbers.txt, line " + std::to_string(value + 1) + "): "));
    }
  };
  places(Lines{{9}} | data::shuffle(3));
  places(data::concatenate(odd, Lines{{3}}));
  places(data::interleave(odd, Lines{{3}}, Lines{{5}}));
  for (const std::uint64_t epoch : {0u, 1u, 2u}) places(data::mixture({2, 1}, odd, Lines{{5}}), epoch);
  places(Lines{{9}} | data::by_length([](int x) { return -x; }));
  CHECK(says(error_of([&] {
               (void)(odd | data::filter([](int x) -> bool { throw Error("it", "more", std::to_string(x)); }));
             }),
             "numbers | filter | filter, value 0 (numbers.txt, line 2): "));
  CHECK(says(error_of([&] { (void)(odd | data::by_length([](int) { return std::nan(""); })); }),
             "numbers | filter | by_length, value 0 (numbers.txt, line 2): expected a length, found NaN"));
  const auto source = odd | data::samples([](int, Sample<float, float>) { throw Error("it", "more", "less"); });
  float number[1];
  CHECK(says(error_of([&] { source.read(data::Key{.index = 3}, Sample<float, float>{number, number}); }),
             "numbers | filter | samples, value 3 (numbers.txt, line 8): "));
}

TEST_CASE("interleave takes parts in turn whatever their sizes, in little memory") {
  for (const std::size_t count : {1u, 2u, 7u, 33u}) {  // beside the definition: round after round
    std::vector<Numbers> parts;
    for (std::size_t i = 0; i < count; ++i) parts.push_back({Philox::mix(count, i) % 9, static_cast<int>(100 * i)});
    Ints expected;
    for (std::size_t round = 0; round < 9; ++round)
      for (const Numbers& part : parts)
        if (round < part.count) expected.push_back(part.first + static_cast<int>(round));
    CHECK(all(data::interleave(parts)) == expected);
  }
  // 5000 sizes, of which none is another: 14 bits a part, 4 bytes a bit; a list of parts for each size took 100 MB.
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 5000; ++i) sizes.push_back(1 + (i * 3001) % 5000);
  const data::detail::Interleaving parts(sizes);
  CHECK(parts.size == 5000 * 5001 / 2);
  CHECK(parts.bytes() < 5000 * (14 * 4 + 2 * sizeof(data::detail::Interleaving::Stretch)));
  std::vector<std::size_t> next(sizes.size(), 0);
  bool is_in_turn = true;
  for (std::size_t i = 0; i < parts.size; i += i % 1000 < 10 ? 1 : 990) {
    const data::detail::Place place = parts.find(i, 0);
    is_in_turn = is_in_turn && place.index < sizes[place.part] && place.index >= next[place.part];
    next[place.part] = place.index + 1;
  }
  CHECK(is_in_turn);
}

TEST_CASE("stages count their time, and the slowest is named") {
  using std::chrono::microseconds;
  const auto timed = Numbers{200} | data::map([](int x) { return x + 1; }, "light") |
                     data::map(
                         [](int x) {
                           std::this_thread::sleep_for(microseconds(300));
                           return x;
                         },
                         "heavy") |
                     data::skip(10);
  (void)all(timed), (void)all(timed);
  const std::vector<data::Timing> timings = data::timings(timed);
  REQUIRE(timings.size() == 3);
  CHECK(timings[0].stage == "numbers");
  CHECK(timings[1].stage == "light");
  CHECK(timings[2].stage == "heavy");
  for (const data::Timing& timing : timings) CHECK(timing.values == 380);
  CHECK(timings[2].seconds >= 380 * 300e-6);  // a sleep is never shorter
  CHECK(timings[2].seconds > 10 * (timings[0].seconds + timings[1].seconds));
  CHECK(data::timings(std::vector<int>{}).empty());
}

TEST_CASE("put and WriteImage write samples, and refuse other extents") {
  std::int32_t whole[1] = {};
  data::put(whole, 7.0);
  CHECK(whole[0] == 7);
  for (const double number : {2.9, 4294967297.0, -2147483649.0, std::nan("")})
    CHECK(says(error_of([&] { data::put(whole, number); }), "put: expected a whole number that 32 bits hold"));
  CHECK(says(error_of([&] { data::put(whole, std::int64_t{4294967297}); }), "found 4294967297"));
  struct Picture {
    std::vector<std::uint8_t> pixels;
    int label;
  };
  const auto pictures =
      Numbers{3} | data::map([](int x) { return Picture{{static_cast<std::uint8_t>(x), 255, 0, 51, 102, 153}, x}; });
  const auto source =
      pictures | data::samples(data::WriteImage({0.5, 0.25}, {0.5, 2}));  // 1 x 3 pixels of two channels
  float input[6];
  std::int32_t target[1];
  source.read(data::Key{.index = 2}, Sample<float, std::int32_t>{input, target});
  const double expected[6] = {(2.0 / 255 - 0.5) / 0.5, (1 - 0.25) / 2,    -1,
                              (0.2 - 0.25) / 2,        (0.4 - 0.5) / 0.5, (0.6 - 0.25) / 2};
  for (int i = 0; i < 6; ++i) CHECK(input[i] == static_cast<float>(expected[i]));
  CHECK(target[0] == 2);
  CHECK(source.size({.input = 6, .target = 1}) == 3);
  CHECK(says(error_of([&] { (void)source.size({.input = 5, .target = 1}); }), "images of 2 channels, and a class"));
  float small[4];
  CHECK(
      says(error_of([&] { source.read(data::Key{}, Sample<float, std::int32_t>{small, target}); }),
           "numbers | map | samples, value 0: expected what its function makes of it, found image: expected 4 pixels"));
  CHECK(says(error_of([] { data::WriteImage({0.5}, {0.0}); }), "a number above 0"));
  CHECK(says(error_of([] { data::WriteImage({0.5}, {1, 1}); }), "1 and 2"));

  double numbers[2];
  data::put(std::span<double>(numbers), std::vector<int>{3, 4});
  CHECK((numbers[0] == 3 && numbers[1] == 4));
  data::put(std::span<double>(numbers, 1), 7.5f);
  CHECK(numbers[0] == 7.5);
  CHECK(says(error_of([&] { data::put(std::span<double>(numbers), 1); }),
             "put: expected 2 numbers, as the model takes, found 1"));
}

namespace {

/// A pipeline whose stages the run chooses: a dataset of any kind behind functions.
struct Value {
  std::uint64_t record, drawn;
  bool operator==(const Value&) const = default;
};
struct Any {
  std::size_t count;
  std::function<Value(const data::Key&)> get;
  std::size_t size() const { return count; }
  Value at(const data::Key& key) const { return get(key); }
  std::string name() const { return "any"; }
};
template <class D>
Any erased(D dataset) {
  const std::size_t size = dataset.size();
  return {size, [dataset = std::move(dataset)](const data::Key& key) { return dataset.at(key); }};
}

Any drawn_pipeline(std::uint64_t seed) {
  std::uint64_t step = 0;
  const auto below = [&](std::uint64_t bound) { return Philox::mix(seed, ++step) % bound; };
  const auto reader = [&](std::uint64_t from) {
    return Any{20 + static_cast<std::size_t>(below(60)),
               [from](const data::Key& key) { return Value{from + key.index, 0}; }};
  };
  Any pipeline = reader(0);
  bool varies = false;
  for (std::uint64_t stages = 1 + below(6); stages-- > 0;) {
    switch (below(10)) {
      case 0:
        pipeline = erased(pipeline | data::take(pipeline.size() - below(pipeline.size() / 2 + 1)));
        break;
      case 1:
        pipeline = erased(pipeline | data::skip(below(pipeline.size() / 2 + 1)));
        break;
      case 2:
        pipeline = erased(pipeline | data::shuffle(below(99)));
        break;
      case 3:
        pipeline = erased(data::concatenate(pipeline, reader(1000)));
        break;
      case 4:
        pipeline = erased(data::interleave(pipeline, reader(2000), reader(3000)));
        break;
      case 5: {
        pipeline = erased(data::mixture({1 + below(3), 1 + below(3)}, pipeline, reader(4000)));
        varies = true;
        break;
      }
      case 6: {
        pipeline = erased(
            pipeline | data::map([](Value x, const data::Key& key) { return Value{x.record, x.drawn ^ key.bits(1)}; }));
        varies = true;
        break;
      }
      case 7:
        if (!varies) pipeline = erased(pipeline | data::cache());
        break;
      case 8:
        if (!varies && pipeline.size() > 8)
          pipeline = erased(pipeline | data::filter([](Value x) { return x.record % 4 != 1; }, {.workers = 1}));
        break;
      case 9:
        if (!varies)
          pipeline = erased(pipeline | data::by_length([](Value x) { return x.record * 31 % 17; }, {.workers = 1}));
        break;
    }
  }
  return pipeline;
}

using Number = std::uint64_t;
/// Writes the value, and what the writer draws.
const auto write_value = [](const Value& value, Sample<Number, Number> sample, const data::Key& key) {
  sample.input[0] = value.record, sample.input[1] = value.drawn;
  sample.target[0] = key.bits(2);
};
using Source_ = decltype(data::samples(std::declval<Any>(), write_value));
using PipeLoader = Loader<Number, Number, Source_>;
constexpr SampleShape shape{.input = 2, .target = 1};

struct Read {
  std::vector<Number> numbers;  // three of each sample
  std::vector<std::size_t> batches;
  bool operator==(const Read&) const = default;
};
void add(Read& read, const PipeLoader::Batch& batch) {
  for (std::size_t i = 0; i < batch.samples; ++i) {
    read.numbers.insert(read.numbers.end(), {batch.input[2 * i], batch.input[2 * i + 1], batch.target[i]});
  }
  read.batches.push_back(batch.samples);
}
/// The whole run, as the ranks of a world read it, batch by batch.
Read by_ranks(const Source_& source, LoaderOptions options, std::size_t ranks, std::uint64_t most = 1'000'000) {
  std::vector<std::unique_ptr<PipeLoader>> loaders;
  options.ranks = ranks;
  for (options.rank = 0; options.rank < ranks; ++options.rank)
    loaders.push_back(std::make_unique<PipeLoader>(source, shape, options));
  Read read;
  for (; most > 0; --most) {
    Read batch;
    for (auto& loader : loaders)
      if (const auto next = loader->next()) add(batch, next);
    if (batch.batches.empty()) break;
    read.numbers.insert(read.numbers.end(), batch.numbers.begin(), batch.numbers.end());
    read.batches.push_back(std::accumulate(batch.batches.begin(), batch.batches.end(), std::size_t{0}));
  }
  return read;
}

}  // namespace

TEST_CASE("random pipelines: the same bits for any workers, any prefetch and any ranks, which a direct reading gives") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Any pipeline = drawn_pipeline(seed);
    const Source_ source = data::samples(pipeline, write_value);
    const auto order = std::array{Order::Shuffled, Order::Sequential, Order::Random, Order::Runs}[seed % 4];
    const auto remainder = std::array{Remainder::Short, Remainder::Wrap, Remainder::Drop}[seed / 4 % 3];
    const LoaderOptions options{
        .batch = 8, .order = order, .remainder = remainder, .seed = seed, .epochs = 3, .workers = 0};
    const Read expected = by_ranks(source, options, 1);
    if (order == Order::Shuffled || order == Order::Sequential) {
      if (remainder != Remainder::Drop) {  // an independent witness: every epoch, one sample after the other
        Read direct;
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
          for (std::size_t i = 0; i < pipeline.size(); ++i) {
            const data::Key key{static_cast<std::size_t>(index_in_order(order, seed, epoch, i, pipeline.size())), epoch,
                                seed};
            const Value value = pipeline.at(key);
            direct.numbers.insert(direct.numbers.end(), {value.record, value.drawn,
                                                         data::Key{key.index, epoch, Philox::mix(seed, 1)}.bits(2)});
          }
        REQUIRE(direct.numbers == expected.numbers);
      }
    }
    for (const std::size_t workers : {1u, 3u, 8u}) {
      LoaderOptions many = options;
      many.workers = workers, many.ahead = 1 + static_cast<std::size_t>(Philox::mix(seed, workers) % 7);
      REQUIRE(by_ranks(source, many, 1) == expected);
    }
    for (const std::size_t ranks : {2u, 4u}) {
      LoaderOptions part = options;
      part.batch = 8 / ranks, part.workers = seed % 3;
      REQUIRE(by_ranks(source, part, ranks) == expected);
    }
  }
}

TEST_CASE(
    "a run that is killed at a random moment goes on with the very next sample, with other batches, ranks and workers") {
  for (std::uint64_t moment = 0; moment < 100; ++moment) {
    CAPTURE(moment);
    const Source_ source = data::samples(drawn_pipeline(1000 + moment), write_value);
    const auto order = moment % 3 == 0 ? Order::Sequential : Order::Shuffled;
    const auto remainder = moment % 2 == 0 ? Remainder::Short : Remainder::Wrap;
    LoaderOptions options{
        .batch = 5, .order = order, .remainder = remainder, .seed = moment, .epochs = 3, .workers = 0};
    const Read whole = by_ranks(source, options, 1);
    Read pieces;
    for (std::uint64_t leg = 0;; ++leg) {
      const std::uint64_t bits = Philox::mix(moment, leg + 7);
      options.batch = 1 + static_cast<std::size_t>(bits % 9), options.workers = static_cast<std::size_t>(bits / 9 % 4);
      options.ahead = 1 + static_cast<std::size_t>(bits / 36 % 5);
      const std::size_t ranks = leg % 3 == 2 ? 4 : leg % 3 + 1;
      const Read piece = by_ranks(source, options, ranks, 1 + bits / 180 % 12);
      if (piece.batches.empty()) break;
      pieces.numbers.insert(pieces.numbers.end(), piece.numbers.begin(), piece.numbers.end());
      LoaderOptions place = options;
      place.workers = 0, place.ranks = ranks;
      PipeLoader after(source, shape, place);  // where all ranks are after that many batches
      for (std::size_t i = 0; i < piece.batches.size(); ++i) (void)after.next();
      options.first = after.place();
    }
    REQUIRE(pieces.numbers == whole.numbers);
  }
}

TEST_CASE("automatic workers are added while somebody waits, up to the processors; the batches stay the same") {
  const auto slow = [](int x) {
    std::this_thread::sleep_for(std::chrono::microseconds(400));
    return x;
  };
  const auto source = Numbers{400} | data::map(slow) | data::samples([](int x, Sample<float, float> sample) {
                        sample.input[0] = sample.target[0] = static_cast<float>(x);
                      });
  using Slow = Loader<float, float, std::remove_const_t<decltype(source)>>;
  LoaderOptions options{.batch = 4, .seed = 3, .epochs = 2, .workers = 0};
  Slow plain(source, {.input = 1, .target = 1}, options);
  options.workers = data::automatic, options.ahead = 1;
  Slow automatic(source, {.input = 1, .target = 1}, options);
  CHECK(automatic.workers() == 1);
  CHECK(automatic.ahead() == 1);
  std::size_t batches = 0;
  for (auto a = plain.next(), b = automatic.next(); a; a = plain.next(), b = automatic.next(), ++batches) {
    REQUIRE(b);
    REQUIRE(std::equal(a.input.begin(), a.input.end(), b.input.begin(), b.input.end()));
  }
  CHECK_FALSE(automatic.next());
  CHECK(batches == 200);
  CHECK(plain.waited() >= 800 * 400e-6);

  Slow alone(source, {.input = 1, .target = 1}, options);
  while (alone.next()) {}
  CHECK(alone.workers() >= 2);
  CHECK(alone.workers() <= static_cast<std::size_t>((std::max)(2, processor_count())));
  CHECK(alone.ahead() >= alone.workers());
  CHECK(alone.waited() > 0);
  const auto one = Numbers{1} | data::samples([](int, Sample<float, float>) {});
  Loader<float, float, std::remove_const_t<decltype(one)>> fast(one, {.input = 1, .target = 1},
                                                                {.epochs = 20, .workers = data::automatic});
  while (fast.next()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(fast.workers() == 1);  // nobody waits
}
