// Kill -9 at 200 random moments of a run that saves every other step: each restart loads what was saved last and goes
// on, and
// the end is what a run in one piece comes to.
#include "../temporary.hpp"
#include "support/catch.hpp"
#include "support/tiny.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace regimen;

namespace {

using Train = Trainer<tiny::Gpt, Batch<4>>;
const regimen::Options<AdamW> options{
    .optimizer = {.learning_rate = 1e-2}, .schedule = Schedule::warmup_cosine(10, 100000), .seed = 3, .threads = 1};
constexpr std::uint64_t every = 2;

enum State : int { starting, training, saving, failed };
struct Common {
  std::atomic<int> state;
  std::atomic<std::uint64_t> loaded, saved;  // steps: in the file that was loaded; in the last save that returned
  char error[400];
};

void one_step(Train& trainer) {
  const std::uint64_t step = trainer.steps_done();
  trainer.step(tiny::tokens(4, step), tiny::tokens(4, step + 1'000'000));
}

[[noreturn]] void train_until_killed(const std::string& path, Common& shared) {
  try {
    Train trainer(options);
    if (std::filesystem::exists(path)) trainer.load(path);
    shared.loaded = trainer.steps_done();
    for (;;) {
      shared.state = training;
      one_step(trainer);
      if (trainer.steps_done() % every != 0) continue;
      shared.state = saving;
      trainer.save(path);
      shared.saved = trainer.steps_done();
    }
  } catch (const std::exception& error) {
    std::snprintf(shared.error, sizeof shared.error, "%s", error.what());
    shared.state = failed;
  }
  _exit(1);
}

}  // namespace

TEST_CASE("a kill at any moment leaves a file that the next run loads") {
  ::test::Directory directory;
  const std::string path = directory / "state.safetensors";
  void* const memory = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Common& shared = *new (memory) Common{};
  int killed_in[3] = {0, 0, 0};
  std::uint64_t saved = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    shared.state = starting;
    shared.loaded = 0;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) train_until_killed(path, shared);
    const std::uint64_t random = Philox::mix(20, round);
    // Any moment of the start may be the last; else a third of the kills falls around a save, however slow the machine.
    const auto comes_to = [&](int least) {
      for (int waited = 0; shared.state < least && waited < 300'000; ++waited) ::usleep(100);
    };
    if (round % 5 != 0) comes_to(round % 3 == 0 ? saving : training);
    ::usleep(static_cast<useconds_t>(random % (1u << (4 + random / 97 % 12))));  // up to 32 ms, often much less
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::test::reap(child, &status));
    INFO("round " << round << ": " << shared.error);
    const int state = shared.state;
    REQUIRE(state != failed);
    REQUIRE(WIFSIGNALED(status));
    ++killed_in[state];
    if (state == starting) continue;
    // The file may be one save ahead of the last that returned, never behind it.
    REQUIRE(shared.loaded >= saved);
    REQUIRE(shared.loaded <= saved + every);
    saved = shared.saved > shared.loaded ? shared.saved.load() : shared.loaded.load();
  }
  INFO("killed while starting " << killed_in[0] << ", training " << killed_in[1] << ", saving " << killed_in[2]);
  CHECK(killed_in[training] > 0);
  CHECK(killed_in[saving] > 0);
  REQUIRE(saved > 0);

  Train resumed(options), whole(options);
  resumed.load(path);
  CHECK(resumed.steps_done() >= saved);
  while (whole.steps_done() < resumed.steps_done()) one_step(whole);
  CHECK(tiny::same_bits(std::span<const float>(tiny::weights(resumed)), std::span<const float>(tiny::weights(whole))));
  resumed.save(path);
  CHECK(directory.files() == 1);  // what killed writers left behind is gone
  std::printf("%d kills while starting, %d while training, %d while saving; %llu steps saved\n", killed_in[0],
              killed_in[1], killed_in[2], static_cast<unsigned long long>(saved));
  ::munmap(memory, sizeof(Common));
}
