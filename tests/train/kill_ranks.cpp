// Kill -9 of a random rank at 100 random moments of a training that saves every other step: the others end at once and
// name it, and each restart
// loads what was saved last, with as many ranks or with fewer; the end is what a training in one piece comes to.
#include <regimen/comm/launch_processes.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/ranks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

using namespace regimen;
using namespace regimen::test;
using support::weights_of;

namespace {

template <class Ranks>
using Train = Trainer<Mlp, Batch<2>, Communicator<Ranks>, Shard<ZeRO3>>;
constexpr std::size_t ranks = 3;
constexpr std::uint64_t every = 2;
constexpr int rounds = 100;

enum State : int { starting, training, saving };
struct Common {
  std::atomic<int> state;                                // of the rank that is to be killed
  std::atomic<std::uint64_t> loaded, saved;              // steps: in what was loaded; in the last save that returned
  std::atomic<std::int64_t> killed_at, ended_at[ranks];  // milliseconds
  char said[ranks][4096];
};
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
const Fake& fake_data() {
  static const Fake fake({.samples = 43, .classes = 5, .seed = 3});
  return fake;
}
template <class Ranks>
typename Train<Ranks>::Options options() {
  typename Train<Ranks>::Options all;
  all.threads = 1;
  return all;
}

/// Without end.
void train(comm::Tcp& world, const std::string& path, bool is_victim, Common& shared) {
  Train<Tcp> trainer(world, options<Tcp>());
  if (std::filesystem::exists(path)) trainer.load(path);
  if (world.rank() == 0) shared.loaded = trainer.steps_done();
  const auto enter = [&](State state) {
    if (is_victim) shared.state = state;
  };
  enter(training);
  trainer.fit(fake_data(), {.steps = ~std::uint64_t{0}, .progress = false},
              [&](Train<Tcp>& self, const StepResult& result) {
                if (result.step % every != 0) return;
                enter(saving);
                self.save(path);
                if (world.rank() == 0) shared.saved = result.step;
                enter(training);
              });
}

/// What all ranks said of a training in which one is killed.
std::string kill_one(int round, std::size_t victim, const std::string& path, Common& shared) {
  const std::uint64_t random = Philox::mix(21, static_cast<std::uint64_t>(round));
  const auto moment = static_cast<useconds_t>(random % (1u << (4 + random / 97 % 12)));  // up to 32 ms, often much less
  try {
    launch_processes(
        ranks,
        [&](comm::Tcp& world) {
          const std::size_t me = world.rank();
          try {
            world.barrier();  // all are here: who is missed from now on is missed by name
            if (me == victim)
              std::thread([&shared, round, moment] {
                // Any moment of the start may be the last, or one behind it, or one around a save.
                if (round % 5 != 0)
                  while (shared.state == starting) ::usleep(50);
                if (round % 5 == 1)
                  while (shared.state != saving) ::usleep(50);
                ::usleep(moment);
                shared.killed_at = now();
                ::raise(SIGKILL);
              }).detach();
            train(world, path, me == victim, shared);
          } catch (const std::exception& error) {
            shared.ended_at[me] = now();
            std::snprintf(shared.said[me], sizeof shared.said[me], "%s", error.what());
            throw;
          }
        },
        std::chrono::seconds(30));
  } catch (const Error& error) { return error.what(); }
  return "";
}

/// What went wrong when so many ranks load what was saved and train on; `first` is where they began.
std::string resume(std::size_t count, const std::string& path, std::atomic<std::uint64_t>& first) {
  try {
    launch_processes(count, [&](comm::Tcp& world) {
      Train<Tcp> trainer(world, options<Tcp>());
      trainer.load(path);
      if (world.rank() == 0) first = trainer.steps_done();
      trainer.fit(fake_data(), {.steps = trainer.steps_done() + 3, .progress = false});
    });
  } catch (const Error& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("a rank that is killed at any moment ends all, and what was saved is loaded by as many ranks, or fewer") {
  const ::test::Directory directory;
  const std::string path = directory / "state";
  void* const memory = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Common& shared = *new (memory) Common{};
  int killed_in[3] = {0, 0, 0};
  std::uint64_t saved = 0;
  std::int64_t slowest = 0;
  for (int round = 0; round < rounds; ++round) {
    shared.state = starting;
    shared.loaded = 0;
    for (auto& words : shared.said) words[0] = '\0';
    const std::size_t victim = Philox::mix(22, static_cast<std::uint64_t>(round)) % ranks;
    const std::string name = "rank " + std::to_string(victim), said = kill_one(round, victim, path, shared);
    INFO("round " << round << ": " << said);
    REQUIRE(::test::says(said, name + " was ended by signal 9"));
    REQUIRE_FALSE(::test::says(said, "did not end"));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (rank == victim) continue;
      REQUIRE(::test::says(shared.said[rank], "the connection to " + name + " was closed"));
      slowest = (std::max)(slowest, shared.ended_at[rank] - shared.killed_at);
    }
    ++killed_in[shared.state];
    if (shared.loaded > 0) {
      // What is there may be one save ahead of the last that returned, never behind it.
      REQUIRE(shared.loaded >= saved);
      REQUIRE(shared.loaded <= saved + every);
      saved = (std::max)(shared.saved.load(), shared.loaded.load());
    }
    saved = (std::max)(saved, shared.saved.load());
    if (round % 10 != 9 || saved == 0) continue;
    std::atomic<std::uint64_t>& first = shared.loaded;
    REQUIRE(resume(1 + static_cast<std::size_t>(round) / 10 % 2, path, first) == "");
    REQUIRE(first >= saved);
  }
  CHECK(killed_in[starting] > 0);
  CHECK(killed_in[training] > 0);
  CHECK(killed_in[saving] > 0);
  CHECK(slowest < 10000);  // by the connection that closes, not by the deadline
  REQUIRE(saved > 0);

  std::uint64_t steps = 0;
  std::vector<float> resumed, whole;
  launch(ranks, [&](comm::Threads& world) {
    Train<Threads> trainer(world, options<Threads>());
    trainer.load(path);
    const std::vector<float> weights = weights_of(trainer);
    trainer.save(path);
    if (world.rank() != 0) return;
    steps = trainer.steps_done();
    resumed = weights;
  });
  CHECK(steps >= saved);
  launch(ranks, [&](comm::Threads& world) {
    Train<Threads> trainer(world, options<Threads>());
    trainer.fit(fake_data(), {.steps = steps, .progress = false});
    const std::vector<float> weights = weights_of(trainer);
    if (world.rank() == 0) whole = weights;
  });
  CHECK(resumed.size() > 1000);
  CHECK(resumed == whole);
  CHECK(directory.files() == ranks + 1);  // what killed ranks left behind is gone
  std::printf(
      "%d kills while starting, %d while training, %d while saving; %llu steps saved; the others ended within %lld ms\n",
      killed_in[starting], killed_in[training], killed_in[saving], static_cast<unsigned long long>(saved),
      static_cast<long long>(slowest));
  ::munmap(memory, sizeof(Common));
}
// SPDX-License-Identifier: Apache-2.0
