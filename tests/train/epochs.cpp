// Callbacks of fit hear epochs begin and end, with what their steps add up to, and the end of the run.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace regimen;

namespace {

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

/// What it hears, in order, as words: b0 an epoch's beginning, s1 a step, e0 an epoch's end, v3 an evaluation, f the end.
struct Ear {
  std::vector<std::string> words{};
  std::vector<EpochEvent> epochs{};
  std::vector<StepResult> steps{};

  void operator()(auto&, const StepResult& step) {
    words.push_back("s" + std::to_string(step.step));
    steps.push_back(step);
  }
  void operator()(auto&, std::span<const StepResult> results) {
    std::string word = "l";
    for (const StepResult& step : results) {
      word += "." + std::to_string(step.step);
      steps.push_back(step);
    }
    words.push_back(word);
  }
  void operator()(auto&, const EpochEvent& epoch) {
    words.push_back((epoch.ended ? "e" : "b") + std::to_string(epoch.epoch));
    epochs.push_back(epoch);
  }
  void operator()(auto& trainer, const Evaluation&) { words.push_back("v" + std::to_string(trainer.steps_done())); }
  void operator()(auto&, const Fitted& fitted) { words.push_back("f" + std::to_string(fitted.steps)); }
  std::string text() const {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
    return all;
  }
};

template <std::size_t batch, std::size_t micro_batches = 1>
Ear heard(std::size_t samples, const FitOptions& run) {
  Trainer<Net, Batch<batch>, Accumulate<micro_batches>> trainer({.threads = 1});
  Ear ear;
  trainer.fit(Fake({.samples = samples, .classes = 4}), run, ear);
  return ear;
}

}  // namespace

TEST_CASE("an epoch begins before its first step, and ends after its last with the mean loss of its steps") {
  Trainer<Net, Batch<10>> trainer({.threads = 1});
  const Fake data({.samples = 23, .classes = 4});
  Ear ear;
  trainer.fit(data, data, {.epochs = 2, .validate_every = 3, .progress = false}, ear);
  CHECK(ear.text() == "b0 s1 s2 s3 e0 v3 b1 s4 s5 s6 e1 v6 f6");
  REQUIRE(ear.epochs.size() == 4);
  for (std::size_t e = 0; e < 2; ++e) {
    const EpochEvent &begin = ear.epochs[2 * e], &end = ear.epochs[2 * e + 1];
    CHECK(!begin.ended);
    CHECK(end.ended);
    CHECK(begin.step == 3 * e);
    CHECK(end.step == 3 * e + 3);
    CHECK(end.steps == 3);
    CHECK(end.targets == 23);
    CHECK(end.seconds >= 0);
    const StepResult* const of = ear.steps.data() + 3 * e;  // 10, 10 and 3 samples
    CHECK(of[2].targets == 3);
    CHECK(end.loss == Approx((10 * of[0].loss + 10 * of[1].loss + 3 * of[2].loss) / 23).epsilon(1e-14));
  }
  CHECK(ear.epochs[3].loss < ear.epochs[1].loss);
}

TEST_CASE("epochs end wherever batches end, and where data are left out") {
  CHECK(heard<10>(23, {.epochs = 2, .remainder = Remainder::Drop, .progress = false}).text() ==
        "b0 s1 s2 e0 b1 s3 s4 e1 f4");
  // Step 3 has the last three samples of epoch 0.
  CHECK(heard<10>(23, {.epochs = 2, .remainder = Remainder::Wrap, .progress = false}).text() ==
        "b0 s1 s2 s3 e0 b1 s4 s5 e1 f5");
  // A step of 8 micro-batches of one epoch each, and of less at the end.
  const Ear whole = heard<64, 8>(20, {.epochs = 9, .progress = false});
  CHECK(whole.text() == "b0 s1 e0 b1 e1 b2 e2 b3 e3 b4 e4 b5 e5 b6 e6 b7 e7 b8 s2 e8 f2");
  CHECK(whole.epochs[1].steps == 1);
  CHECK(whole.epochs[1].targets == 160);
  CHECK(whole.epochs[3].steps == 0);
  CHECK(whole.epochs[3].loss != whole.epochs[3].loss);
  // 5 batches an epoch; a step that an epoch ends goes on in the next one: 5 steps, not 3 times 2.
  std::vector<std::size_t> samples;
  for (const StepResult& step : heard<5, 3>(23, {.epochs = 3, .progress = false}).steps)
    samples.push_back(step.samples);
  CHECK(samples == std::vector<std::size_t>{15, 13, 15, 13, 13});
  // 8 batches, and 2 of them are no step.
  CHECK(heard<5, 3>(23, {.epochs = 2, .remainder = Remainder::Drop, .progress = false}).text() ==
        "b0 s1 s2 e0 b1 e1 f2");
  CHECK(heard<10>(23, {.steps = 4, .progress = false}).text() == "b0 s1 s2 s3 e0 b1 s4 f4");
}

TEST_CASE("a call that goes on inside an epoch begins it again, with the steps that are left") {
  Trainer<Net, Batch<10>> trainer({.threads = 1});
  const Fake data({.samples = 43, .classes = 4});
  Ear first, second, third;
  trainer.fit(data, {.steps = 2, .progress = false}, first);
  trainer.fit(data, {.epochs = 1, .progress = false}, second);
  trainer.fit(data, {.epochs = 1, .progress = false}, third);
  CHECK(first.text() == "b0 s1 s2 f2");
  CHECK(second.text() == "b0 s3 s4 s5 e0 f5");
  CHECK(second.epochs[1].steps == 3);
  CHECK(second.epochs[1].targets == 23);
  CHECK(third.text() == "f5");
}

TEST_CASE("who hears epochs hears launches that do not cross their ends, and the bits are the same") {
  using Train = Trainer<Net, Batch<4>, Steps<4>>;
  const Fake data({.samples = 24, .classes = 4});
  const FitOptions run{.epochs = 2, .progress = false};
  Train hearing({.threads = 1}), deaf({.threads = 1});
  Ear ear;
  std::vector<std::size_t> launches;
  hearing.fit(data, run, ear);
  deaf.fit(data, run, [&](auto&, std::span<const StepResult> results) { launches.push_back(results.size()); });
  CHECK(ear.text() == "b0 l.1.2.3.4 l.5 l.6 e0 b1 l.7.8.9.10 l.11 l.12 e1 f12");
  CHECK(launches == std::vector<std::size_t>{4, 4, 4});
  CHECK(support::weights_of(hearing) == support::weights_of(deaf));
  CHECK(ear.epochs[1].steps == 6);
}

TEST_CASE("all ranks hear the same epochs, and one that says stop ends the run of all") {
  std::vector<Ear> ears(3);
  const Fake data({.samples = 43, .classes = 4});
  launch(3, [&](comm::Threads& communicator) {
    Trainer<Net, Batch<4>, Communicator<Threads>, Shard<ZeRO1>> trainer(communicator);
    Ear& ear = ears[trainer.rank()];
    trainer.fit(data, {.epochs = 5, .progress = false}, ear,
                [&](auto&, const EpochEvent& epoch) { return trainer.rank() != 1 || epoch.epoch < 2 || epoch.ended; });
  });
  CHECK(ears[0].text() == "b0 s1 s2 s3 s4 e0 b1 s5 s6 s7 s8 e1 b2 f8");
  CHECK(ears[0].epochs[1].targets == 43);
  for (const Ear& ear : ears) {
    CHECK(ear.words == ears[0].words);
    CHECK(ear.epochs[3].loss == ears[0].epochs[3].loss);
  }
}

TEST_CASE("one rank alone hears epochs, and the others stop with it") {
  Ear ear;
  launch(2, [&](comm::Threads& communicator) {
    Trainer<Net, Batch<4>, Communicator<Threads>, Shard<ZeRO1>> trainer(communicator);
    const Fake samples({.samples = 16, .classes = 4});
    if (trainer.rank() == 0) trainer.fit(samples, {.epochs = 2, .progress = false}, ear);
    else trainer.fit(samples, {.epochs = 2, .progress = false});
  });
  CHECK(ear.text() == "b0 s1 s2 e0 b1 s3 s4 e1 f4");
}

TEST_CASE("an evaluation that the end of a call asks for is none of patience's") {
  const Fake samples({.samples = 16, .classes = 4});
  Trainer<Net, Batch<8>> whole({.optimizer = {.learning_rate = 0}, .threads = 1});
  const Fitted once = whole.fit(samples, samples, {.steps = 9, .validate_every = 4, .patience = 2, .progress = false});
  CHECK(!once.stopped_early);  // two evaluations, of which the first is the best one; a third at the end
  Trainer<Net, Batch<8>> parts({.optimizer = {.learning_rate = 0}, .threads = 1});
  const Fitted first = parts.fit(samples, samples, {.steps = 5, .validate_every = 4, .patience = 1, .progress = false});
  CHECK(!first.stopped_early);
  CHECK(first.steps == 5);
}
// SPDX-License-Identifier: Apache-2.0
