// Ranks that fail, hang or differ: all of them end, with an error that names the cause, and what was saved is whole.
#include "temporary.hpp"
#include "train/shard.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

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

const Fake& data() {
  static const Fake fake({.samples = 43, .classes = 11, .seed = 3});
  return fake;
}

}  // namespace

TEST_CASE("an exception on one rank, in any phase, ends all, and the run goes on from what was saved") {
  enum Phase { in_data, after_step, in_evaluation, phases };
  const ::test::Directory folder;
  launch(3, [&](comm::Threads& ranks) {
    Train trainer(ranks);
    trainer.fit(data(), {.steps = 2, .progress = false});
    trainer.save(folder / "state");
  });
  for (int phase = 0; phase < phases; ++phase) {
    for (std::size_t culprit = 0; culprit < 3; ++culprit) {
      INFO("phase " << phase << ", rank " << culprit);
      std::atomic<std::size_t> ended{0};
      const std::string said = failure_of(3, [&](comm::Threads& ranks) {
        struct Count {
          std::atomic<std::size_t>& count;
          ~Count() { ++count; }
        } counted{ended};
        struct Failing {
          bool fails;
          std::size_t size(const SampleShape& shape) const { return data().size(shape); }
          void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
            if (fails && index % 7 == 3) throw std::runtime_error("this sample is bad");
            data().read(index, sample);
          }
        } const source{phase == in_data && ranks.rank() == culprit};
        Train trainer(ranks);
        trainer.load(folder / "state");
        trainer.fit(
            source, data(), {.steps = 40, .validate_every = 5, .progress = false},
            [&](Train&, const StepResult& result) {
              if (phase == after_step && ranks.rank() == culprit && result.step == 4) throw std::runtime_error("this step is bad");
            },
            [&](Train&, const Evaluation&) {
              if (phase == in_evaluation && ranks.rank() == culprit) throw std::runtime_error("this evaluation is bad");
            });
      });
      CHECK(ended == 3);
      CHECK(mentions(said, "rank " + std::to_string(culprit)));
      CHECK(mentions(said, "is bad"));
    }
  }
  for (const std::size_t fewer : {1u, 2u})
    CHECK(failure_of(fewer, [&](comm::Threads& ranks) {
            Train trainer(ranks);
            trainer.load(folder / "state");
            trainer.fit(data(), {.steps = 4, .progress = false});
          }) == "");
}

TEST_CASE("a rank that sleeps past the deadline is named") {
  const std::string said = failure_of(3, [&](comm::Threads& ranks) {
    Train trainer(ranks);
    trainer.fit(data(), {.steps = 40, .progress = false}, [&](Train&, const StepResult& result) {
      if (ranks.rank() == 1 && result.step == 2) std::this_thread::sleep_for(3 * patience);
    });
  });
  CHECK(mentions(said, "rank 1"));
}

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
