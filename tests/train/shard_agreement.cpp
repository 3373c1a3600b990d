// Ranks that differ are found before they train, with an error that names them.
#include "train/shard.hpp"

#include <chrono>
#include <string>

using namespace regimen;
using namespace regimen::test;

namespace {

using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>;
constexpr comm::Deadline patience = std::chrono::milliseconds(1500);

std::string failure_of(std::size_t ranks, const auto& body) {
  try {
    launch(ranks, body, patience);
  } catch (const std::exception& error) { return error.what(); }
  return "";
}
bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ranks that differ are found before they train") {
  CHECK(mentions(failure_of(3, [](comm::Threads& ranks) { Train trainer(ranks, {.seed = ranks.rank() == 2 ? 5u : 4u}); }), "rank 2"));
  CHECK(mentions(failure_of(2, [](comm::Threads& ranks) { Train trainer(ranks, {.optimizer = {.learning_rate = 0.1 * double(ranks.rank())}}); }),
                 "rank 1"));
  CHECK(mentions(failure_of(2,
                            [](comm::Threads& ranks) {
                              Train trainer(ranks);
                              trainer.fit(Fake({.samples = 40 + ranks.rank(), .classes = 11}), {.steps = 1, .progress = false});
                            }),
                 "data and run"));
  CHECK(mentions(failure_of(2,
                            [](comm::Threads& ranks) {
                              if (ranks.rank() == 0) Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>> trainer(ranks);
                              else Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO2>> trainer(ranks);
                            }),
                 "program, seed and options"));
}
// SPDX-License-Identifier: Apache-2.0
