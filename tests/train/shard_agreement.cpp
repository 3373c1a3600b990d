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
  CHECK(
      mentions(failure_of(3, [](comm::Threads& ranks) { Train trainer(ranks, {.seed = ranks.rank() == 2 ? 5u : 4u}); }),
               "rank 2"));
  CHECK(mentions(failure_of(2,
                            [](comm::Threads& ranks) {
                              Train trainer(ranks, {.optimizer = {.learning_rate = 0.1 * double(ranks.rank())}});
                            }),
                 "rank 1"));
  CHECK(mentions(failure_of(2,
                            [](comm::Threads& ranks) {
                              Train trainer(ranks);
                              trainer.fit(Fake({.samples = 40 + ranks.rank(), .classes = 11}),
                                          {.steps = 1, .progress = false});
                            }),
                 "the same data"));
  CHECK(mentions(failure_of(2,
                            [](comm::Threads& ranks) {
                              if (ranks.rank() == 0)
                                Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>> trainer(ranks);
                              else Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO2>> trainer(ranks);
                            }),
                 "program, seed and options"));
}

TEST_CASE("options, data and runs that differ in anything that decides a step are found") {
  const auto differ = [](auto change) {
    return failure_of(2, [change](comm::Threads& ranks) {
      Train::Options options;
      FitOptions run{.steps = 1, .progress = false};
      Fake::Options data{.samples = 40, .classes = 11};
      if (ranks.rank() == 1) change(options, run, data);
      Train trainer(ranks, options);
      trainer.fit(Fake(data), run);
    });
  };
  using Options = Train::Options;
  using Data = Fake::Options;
  CHECK(differ([](Options&, FitOptions&, Data&) {}).empty());
  CHECK(mentions(differ([](Options& o, FitOptions&, Data&) { o.optimizer.weight_decay = 0.5; }),
                 "program, seed and options"));
  CHECK(mentions(differ([](Options& o, FitOptions&, Data&) { o.optimizer.beta2 = 0.9; }), "program, seed and options"));
  CHECK(mentions(differ([](Options& o, FitOptions&, Data&) { o.schedule = Schedule::warmup_cosine(2, 4096); }),
                 "program, seed and options"));
  CHECK(mentions(differ([](Options&, FitOptions& r, Data&) { r.order = Order::Sequential; }), "the same run"));
  CHECK(mentions(differ([](Options&, FitOptions&, Data& d) { d.seed = 1; }), "the same data"));
}

TEST_CASE("a rank may listen alone") {
  std::vector<std::uint64_t> steps(2);
  launch(2, [&](comm::Threads& ranks) {
    Train trainer(ranks);
    const Fake data({.samples = 40, .classes = 11});
    if (ranks.rank() == 0)
      trainer.fit(data, {.steps = 9, .progress = false},
                  [](Train&, const StepResult& result) { return result.step < 3; });
    else trainer.fit(data, {.steps = 9, .progress = false});
    steps[ranks.rank()] = trainer.steps_done();
  });
  CHECK(steps == std::vector<std::uint64_t>{3, 3});
}
// SPDX-License-Identifier: Apache-2.0
