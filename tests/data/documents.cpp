// Documents of unequal lengths: each token is predicted once, windows are full, and ranks have equal shares.
#include <regimen/data/documents.hpp>

#include "../temporary.hpp"
#include "data/balance.hpp"
#include "support/catch.hpp"

#include <map>
#include <utility>
#include <vector>

using namespace regimen;
using test::error_of;
using test::says;

static_assert(Source<Documents, std::int32_t, std::int32_t>);

namespace {

constexpr std::size_t length = 64;
const SampleShape shape{.input = length, .target = length, .vocabulary_or_classes = 50'000};

/// Many short documents and a few that are longer than a window. Tokens are distinct, so that every target tells where
/// it is from.
std::vector<std::vector<std::int32_t>> skewed() {
  std::vector<std::vector<std::int32_t>> documents;
  std::int32_t token = 0;
  for (std::uint64_t d = 0; d < 600; ++d) {
    const std::size_t tokens = 2 + Philox::mix(5, d) % 12 + (d % 10 == 0 ? Philox::mix(6, d) % 150 : 0);
    documents.emplace_back();
    for (std::size_t i = 0; i < tokens; ++i) documents.back().push_back(token++);
  }
  return documents;
}

void expects_each_target_once(const Documents& source, const std::vector<std::vector<std::int32_t>>& documents) {
  std::map<std::int32_t, std::int32_t> before;  // of each target, the token that it follows
  std::vector<std::int32_t> input(length), target(length);
  std::size_t valid = 0;
  for (std::size_t i = 0; i < source.size(shape); ++i) {
    source.read(i, {input, target});
    for (std::size_t t = 0; t < length; ++t) {
      if (target[t] == ignore_index) {
        CHECK(input[t] == 0);
        continue;
      }
      CHECK(before.emplace(target[t], input[t]).second);
      ++valid;
    }
  }
  std::size_t expected = 0, wrong = 0;
  for (const auto& document : documents)
    for (std::size_t i = 1; i < document.size(); ++i, ++expected)
      wrong += !before.contains(document[i]) || before[document[i]] != document[i - 1];
  CHECK(wrong == 0);
  CHECK(valid == expected);
  CHECK(source.targets() == expected);
}

}  // namespace

TEST_CASE("every token that has one before it is a target once") {
  const auto documents = skewed();
  expects_each_target_once(Documents(documents, length), documents);
  expects_each_target_once(Documents(documents, length, Documents::OneAWindow), documents);
  expects_each_target_once(Documents(documents, length, Documents::ByLength), documents);
}

TEST_CASE("packed windows are nearly full, and never two of them would fit into one") {
  const Documents packed(skewed(), length), single(skewed(), length, Documents::OneAWindow);
  CHECK(packed.windows() < single.windows() / 4);
  std::vector<std::int32_t> input(length), target(length);
  std::size_t least = length, second = length;
  for (std::size_t i = 0; i < packed.windows(); ++i) {
    packed.read(i, {input, target});
    std::size_t valid = 0;
    for (const std::int32_t id : target) valid += id != ignore_index;
    if (valid < least) second = std::exchange(least, valid);
    else if (valid < second) second = valid;
  }
  CHECK(least + second > length);
}

TEST_CASE("ranks that get packed windows share the targets equally") {
  const Documents packed(skewed(), length), single(skewed(), length, Documents::OneAWindow);
  const auto balance = [](const Documents& source) {
    return test::balance_of<std::int32_t, std::int32_t>(
        source, shape, {.batch = 2, .remainder = Remainder::Drop, .seed = 3, .ranks = 4});
  };
  const test::Balance equal = balance(packed), unequal = balance(single);
  INFO(equal.table() << unequal.table());
  // No rank has more than its places, and all have fill times theirs.
  CHECK(equal.fill > 0.95);
  CHECK(equal.imbalance <= 1 / 0.95);
  CHECK(unequal.fill < 0.25);
  CHECK(unequal.imbalance > 1.3);
  CHECK(equal.targets.size() == 4);
  CHECK(equal.steps == packed.windows() / 8);
}

TEST_CASE("batches of documents of like lengths give ranks like shares") {
  const auto balance = [](Documents::Batching batching, Order order) {
    return test::balance_of<std::int32_t, std::int32_t>(
        Documents(skewed(), length, batching), shape,
        {.batch = 2, .order = order, .remainder = Remainder::Short, .seed = 3, .ranks = 4});
  };
  const test::Balance sorted = balance(Documents::ByLength, Order::Runs),
                      mixed = balance(Documents::OneAWindow, Order::Shuffled);
  INFO(sorted.table() << mixed.table());
  CHECK(sorted.fill == mixed.fill);  // the same pieces
  CHECK(mixed.imbalance > 1.3);
  // Of eight neighbours in order of length, most have one length: a rank's two exceed the mean only where lengths
  // change.
  CHECK(sorted.imbalance < 1 + (mixed.imbalance - 1) / 4);
}

TEST_CASE("what cannot be windows is said") {
  CHECK(says(error_of([] { Documents({{1}, {}, {2}}, 8); }), "a document of two tokens or more"));
  CHECK(says(error_of([] { Documents({{1, 2}}, 0); }), "windows of at least one token"));
  CHECK(says(error_of([] { Documents({{1, 2}, {3, -4}}, 8); }), "document 1, token 1"));
  CHECK(says(error_of([] { Documents({{1, 2}}, 8).size({.input = 9, .target = 9}); }), "8 inputs"));
  CHECK(says(error_of([] { Documents({{1, 99}}, 8).size({.input = 8, .target = 8, .vocabulary_or_classes = 50}); }),
             "ids up to 99"));
}
// SPDX-License-Identifier: Apache-2.0
