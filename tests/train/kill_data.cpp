// Kill -9 at 100 random moments of a training that saves now and then: each restart goes on with the very next sample
// behind what was saved, with another batch, other workers, other ranks; told by what was read in a loop by hand, and in
// fit by which weights a step has moved.
#include <regimen/comm/launch.hpp>
#include <regimen/data/pipeline.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t records = 60;
constexpr int rounds = 100;
constexpr std::size_t most_steps = 128, most_batch = 10;  // of a round
constexpr std::uint64_t every = 3;

/// One weight for each record: a step moves those of the records that it has seen. All of them: a weight goes from about
/// 0 towards targets of 1000 and more, by at most 2 · rate of what is left for each sample that it sees, and the
/// `most_samples` of a test leave more than half. (With a bias, which all samples move, some targets are met exactly.)
struct Net final : Model<Input<Vector<records>>, Linear<1, NoBias>> {};
template <std::size_t batch, class... Policies>
using Train = Trainer<Net, Loss<MeanSquaredError>, Optimizer<Sgd>, Batch<batch>, Policies...>;
constexpr double rate = 1e-4;
constexpr std::size_t most_samples = rounds * most_steps * most_batch;  // of a record one in `records`
static_assert(2 * rate * (most_samples / records) < 0.5);
template <class T>
typename T::Options options() {
  return {.optimizer = {.learning_rate = rate}, .threads = 1};
}

struct Numbers {
  std::size_t size() const { return records; }
  std::uint64_t at(const data::Key& key) const { return key.index; }
  std::string name() const { return "numbers"; }
};
struct Drawn {
  std::uint64_t record, drawn;
};
/// Targets are drawn, others in each epoch, and far above what the model says.
auto pipeline() {
  return Numbers{} | data::shuffle(5) |
         data::map([](std::uint64_t record, const data::Key& key) { return Drawn{record, key.bits(1) % 256}; }) |
         data::samples([](const Drawn& x, Sample<float, float> sample) {
           std::fill(sample.input.begin(), sample.input.end(), 0.0f);
           sample.input[x.record] = 1;
           sample.target[0] = 1000 + static_cast<float>(x.drawn);
         });
}

struct Seen {
  std::uint32_t record = 0;
  float target = 0;  // 0: not known
};
struct Step {
  std::uint64_t number = 0;
  std::size_t samples = 0;
  std::array<Seen, most_batch> seen{};
  std::size_t count = 0;  // of seen
};
enum State : int { starting, training, saving, failed };
struct Common {
  std::atomic<int> state;
  std::atomic<std::uint64_t> loaded, saved;  // steps: in what was loaded; in the last save that returned
  std::atomic<std::size_t> steps;
  std::array<Step, most_steps> log;
  std::array<Seen, most_samples> reference;  // what a run in one piece reads
  char error[400];
};

struct Way {
  std::size_t workers;
  Remainder remainder;
  bool in_background;
};
FitOptions run_of(const Way& way) {
  return {.steps = 1'000'000,
          .remainder = way.remainder,
          .workers = way.workers,
          .ahead = 1 + way.workers,
          .progress = false};
}

void note(Common& shared, const Step& step) {
  const std::size_t at = shared.steps;
  shared.log[at] = step;
  shared.steps = at + 1;
}
template <class T>
void load(T& trainer, const std::string& path, Common& shared) {
  if (std::filesystem::exists(path)) trainer.load(path);
  if (trainer.rank() != 0) return;
  shared.loaded = trainer.steps_done();
  shared.state = training;
}
template <class T>
void save_now_and_then(T& trainer, const std::string& path, const Way& way, Common& shared) {
  if (trainer.steps_done() % every != 0) return;
  const bool tells = trainer.rank() == 0;
  if (tells) shared.state = saving;
  if (way.in_background) {
    trainer.save_in_background(path);
  } else {
    trainer.save(path);
    if (tells) shared.saved = trainer.steps_done();
  }
  if (tells) shared.state = training;
}

/// A loop by hand, which notes what it reads.
template <class T>
void by_hand(T& trainer, const std::string& path, const Way& way, Common& shared) {
  load(trainer, path, shared);
  const auto source = pipeline();
  auto loader = trainer.batches(source, run_of(way));
  while (shared.steps < most_steps) {
    const auto batch = loader.next();
    trainer.apply(trainer.backward(trainer.forward(batch.input, batch.target)));
    Step step{.number = trainer.steps_done(), .samples = batch.samples, .count = batch.samples};
    for (std::size_t i = 0; i < batch.samples; ++i) {
      const auto input = batch.input.subspan(i * records, records);
      step.seen[i] = {static_cast<std::uint32_t>(std::find(input.begin(), input.end(), 1.0f) - input.begin()),
                      batch.target[i]};
    }
    note(shared, step);
    save_now_and_then(trainer, path, way, shared);
  }
}
/// fit; each step has seen the records whose weights it has moved.
template <class T>
void by_fit(T& trainer, const std::string& path, const Way& way, Common& shared) {
  load(trainer, path, shared);
  const auto weights = [&] {
    const auto values = trainer.parameters().at(0).values;
    return std::vector<float>(values.begin(), values.end());
  };
  std::vector<float> before = weights();
  trainer.fit(pipeline(), run_of(way), [&](T&, const StepResult& result) {
    const std::vector<float> after = weights();
    Step step{.number = result.step, .samples = result.targets};  // one of a sample
    for (std::uint32_t i = 0; i < records; ++i)
      if (after.at(i) != before.at(i) && step.count < most_batch) step.seen[step.count++] = {i, 0};
    before = after;
    if (trainer.rank() == 0) note(shared, step);
    save_now_and_then(trainer, path, way, shared);
    return trainer.rank() != 0 || shared.steps < most_steps;
  });
}

using Ranks = Train<5, Communicator<Threads>, Shard<ZeRO3>>;
constexpr int kinds = 4;
void train_as(int kind, const std::string& path, const Way& way, Common& shared) {
  if (kind == 3) {
    launch(2, [&](comm::Threads& world) {
      Ranks trainer(world, options<Ranks>());
      by_fit(trainer, path, way, shared);
      trainer.finish_saving();
    });
    return;
  }
  const auto run = [&](auto& trainer) {
    kind == 0 ? by_hand(trainer, path, way, shared) : by_fit(trainer, path, way, shared);
    trainer.finish_saving();
  };
  if (kind == 1) {
    Train<4> trainer(options<Train<4>>());
    run(trainer);
  } else {
    Train<7> trainer(options<Train<7>>());
    run(trainer);
  }
}

/// Runs body in a process of its own, which is forked: this one must not have computed anything yet.
template <class Body>
pid_t in_a_process(Common& shared, const Body& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    std::snprintf(shared.error, sizeof shared.error, "%s", error.what());
    shared.state = failed;
    _exit(1);
  }
  _exit(0);
}

/// Whether a step has seen the samples that the run in one piece reads at these places.
bool is_next(const Step& step, const Seen* expected) {
  std::vector<std::uint32_t> records_of(step.samples), found(step.count);
  for (std::size_t i = 0; i < step.samples; ++i) records_of[i] = expected[i].record;
  for (std::size_t i = 0; i < step.count; ++i) found[i] = step.seen[i].record;
  if (step.count > 0 && step.seen[0].target != 0) {
    for (std::size_t i = 0; i < step.samples; ++i)
      if (step.seen[i].target != expected[i].target) return false;
    return found == records_of;
  }
  std::sort(records_of.begin(), records_of.end());  // by weights: which, not in which order; twice is once
  records_of.erase(std::unique(records_of.begin(), records_of.end()), records_of.end());
  return found == records_of;
}

}  // namespace

TEST_CASE("killed at any moment and resumed, a run goes on with the very next sample") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  void* const memory = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Common& shared = *new (memory) Common{};
  int status = 0;
  REQUIRE(::test::reap(
      in_a_process(shared,
                   [&] {
                     Train<7> trainer(options<Train<7>>());
                     const auto source = pipeline();
                     auto loader = trainer.batches(source, {.workers = 0});
                     for (std::size_t at = 0; at < shared.reference.size();) {
                       const auto batch = loader.next();
                       for (std::size_t i = 0; i < batch.samples && at < shared.reference.size(); ++i) {
                         const auto input = batch.input.subspan(i * records, records);
                         const auto one = std::find(input.begin(), input.end(), 1.0f);
                         shared.reference[at++] = {static_cast<std::uint32_t>(one - input.begin()), batch.target[i]};
                       }
                     }
                   }),
      &status));
  REQUIRE(status == 0);

  int killed_in[3] = {0, 0, 0};
  std::size_t compared = 0, repeated = 0, others = 0;
  std::map<std::uint64_t, std::size_t> consumed{{0, 0}};  // samples, of those that reached a state that was saved
  std::uint64_t saved = 0;
  int before = -1;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t random = Philox::mix(23, static_cast<std::uint64_t>(round));
    const int kind = static_cast<int>(Philox::mix(random, 1) % kinds);
    const Way way{.workers = std::array<std::size_t, 3>{0, 1, 3}[Philox::mix(random, 2) % 3],
                  .remainder = Philox::mix(random, 3) % 2 == 0 ? Remainder::Short : Remainder::Wrap,
                  .in_background = Philox::mix(random, 4) % 4 == 0};
    shared.state = starting;
    shared.loaded = shared.saved = 0;
    shared.steps = 0;
    const pid_t child = in_a_process(shared, [&] {
      train_as(kind, path, way, shared);
      for (;;) ::pause();  // for its end, which comes
    });
    REQUIRE(child >= 0);
    const auto comes_to = [&](int least) {
      for (int waited = 0; shared.state < least && waited < 300'000; ++waited) ::usleep(100);
    };
    if (round % 5 != 0) comes_to(round % 3 == 0 ? saving : training);
    ::usleep(static_cast<useconds_t>(random % (1u << (5 + random / 97 % 12))));  // up to 64 ms, often much less
    ::kill(child, SIGKILL);
    REQUIRE(::test::reap(child, &status));
    INFO("round " << round << ", kind " << kind << ", " << way.workers << " workers: " << shared.error);
    const int state = shared.state;
    REQUIRE(state != failed);
    REQUIRE(WIFSIGNALED(status));
    ++killed_in[state];
    if (state == starting) continue;

    REQUIRE(shared.loaded >= saved);
    REQUIRE(consumed.count(shared.loaded) == 1);
    std::size_t at = consumed[shared.loaded];
    repeated += consumed.rbegin()->second - at;  // which no state had
    consumed.erase(consumed.upper_bound(shared.loaded), consumed.end());
    for (std::size_t i = 0; i < shared.steps; ++i) {
      const Step& step = shared.log[i];
      INFO("step " << step.number << ", from sample " << at << " on");
      REQUIRE(step.number == shared.loaded + i + 1);
      REQUIRE(step.samples > 0);
      REQUIRE(step.samples <= most_batch);
      REQUIRE(is_next(step, &shared.reference[at]));
      at += step.samples;
      consumed[step.number] = at;
    }
    compared += shared.steps;
    others += before >= 0 && before != kind && shared.steps > 0;
    if (shared.steps > 0) before = kind;
    saved = (std::max)(saved, shared.saved.load());
    saved = (std::max)(saved, shared.loaded.load());
  }
  std::printf(
      "%d kills while starting, %d while training, %d while saving; %zu steps had the very next samples, %zu samples "
      "were read again\n",
      killed_in[starting], killed_in[training], killed_in[saving], compared, repeated);
  CHECK(killed_in[training] > 0);
  CHECK(killed_in[saving] > 0);
  CHECK(others > 20);  // went on after another kind of run
  CHECK(saved > 2 * records / 7);
  CHECK(compared > 100);
  ::munmap(memory, sizeof(Common));
}
// SPDX-License-Identifier: Apache-2.0
