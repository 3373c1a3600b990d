// Ranks that compare values on the host agree, or all of them throw the same words.
#include <regimen/comm/agreement.hpp>
#include <regimen/comm/launch.hpp>
#include <regimen/comm/ranks_of.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;

namespace {

/// What each of three ranks was told by body(communicator); empty: nothing.
template <class Body>
std::vector<std::string> told(const Body& body) {
  std::vector<std::string> words(3);
  launch(
      3,
      [&](comm::Threads& threads) {
        comm::RanksOf<comm::Threads> ranks(threads);
        try {
          body(ranks);
        } catch (const Error& error) { words[ranks.rank()] = error.what(); }
      },
      std::chrono::seconds(20));
  return words;
}
using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("a number that differs is told to all ranks, with the ranks that have another") {
  CHECK(told([](comm::Control& ranks) { comm::agree(&ranks, "here", "number", 7); }) == Told(3));
  const Told words =
      told([](comm::Control& ranks) { comm::agree(&ranks, "here", "number", std::uint64_t{ranks.rank() == 1}); });
  CHECK(words == Told(3, words[0]));
  CHECK(words[0].find("here: expected the same number on all 3 ranks, found others than rank 0's on rank 1;") == 0);
  comm::agree(nullptr, "here", "number", 1);
}

TEST_CASE("a text that differs is told to all ranks, with both texts, wherever in it they differ") {
  const auto compare = [](const std::string& rank_2) {
    return told([&](comm::Control& ranks) {
      comm::agree_in_words(&ranks, "here", "text", ranks.rank() == 2 ? rank_2 : std::string(300, 'a'), "cure");
    });
  };
  CHECK(compare(std::string(300, 'a')) == Told(3));
  const Told words = compare("b");
  CHECK(words == Told(3, words[0]));
  CHECK(words[0].find("here: expected the same text on all 3 ranks, found \"aaa") == 0);
  CHECK(words[0].find("\"b\" on rank 2; cure") != std::string::npos);
  CHECK(!compare(std::string(299, 'a') + 'b')[0].empty());
  CHECK(!compare(std::string(301, 'a'))[1].empty());
}

TEST_CASE("a condition is true on all ranks, or on none") {
  std::vector<int> found(3, -1);
  const auto ask = [&](std::size_t without) {
    return told(
        [&, without](comm::Control& ranks) { found[ranks.rank()] = comm::on_all(ranks, ranks.rank() != without); });
  };
  CHECK((ask(3) == Told(3) && found == std::vector<int>{1, 1, 1}));
  CHECK((ask(1) == Told(3) && found == std::vector<int>{0, 0, 0}));
}
// SPDX-License-Identifier: Apache-2.0
