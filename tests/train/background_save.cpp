// A state that is saved while training goes on is the one of the moment it was asked for.
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/shard.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>

using namespace regimen;
using namespace regimen::test;
using support::weights_of;

namespace {

const Fake& fake_data() {
  static const Fake fake({.samples = 43, .classes = 11, .seed = 3});
  return fake;
}
using Alone = Trainer<Gpt<2>, Batch<2>>;
template <class Stage>
using Sharded = Trainer<Tied<2>, Batch<2>, Communicator<Threads>, Shard<Stage>>;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the file is that of save, whatever training does meanwhile") {
  const ::test::Directory folder;
  Alone trainer;
  trainer.fit(fake_data(), {.steps = 5, .progress = false});
  trainer.save(folder / "now");
  trainer.save_in_background(folder / "later");
  trainer.fit(fake_data(), {.steps = 9, .progress = false});
  trainer.finish_saving();
  trainer.finish_saving();  // nothing is left to do
  CHECK(bytes_of(folder / "later").size() > 1000);
  CHECK(bytes_of(folder / "later") == bytes_of(folder / "now"));
}

TEST_CASE("a Trainer that ends has saved, and so has one that loads") {
  const ::test::Directory folder;
  std::vector<float> saved;
  {
    Alone trainer;
    trainer.fit(fake_data(), {.steps = 3, .progress = false});
    saved = weights_of(trainer);
    trainer.save_in_background(folder / "state");
  }
  Alone trainer;
  trainer.load(folder / "state");
  CHECK(weights_of(trainer) == saved);
  trainer.fit(fake_data(), {.steps = 6, .progress = false});
  const std::vector<float> later = weights_of(trainer);
  trainer.save_in_background(folder / "state");
  trainer.load(folder / "state");
  CHECK(weights_of(trainer) == later);
  CHECK(trainer.steps_done() == 6);
}

TEST_CASE("what went wrong is thrown by whoever asks next") {
  const ::test::Directory folder;
  Alone trainer;
  trainer.save_in_background(folder / "no such folder/state");
  CHECK_THROWS_AS(trainer.finish_saving(), Error);
  trainer.save_in_background(folder / "no such folder/state");
  CHECK_THROWS_AS(trainer.save(folder / "state"), Error);
  CHECK(!std::filesystem::exists(folder / "state"));
  trainer.save(folder / "state");  // said once
  CHECK(std::filesystem::exists(folder / "state"));
}

TEST_CASE("ranks save in parts and go on; the older state holds until all parts are there") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  std::vector<float> saved;
  launch(4, [&](comm::Threads& communicator) {
    Sharded<Hybrid<2>> trainer(communicator);
    trainer.fit(fake_data(), {.steps = 2, .progress = false});
    trainer.save_in_background(path);
    trainer.fit(fake_data(), {.steps = 5, .progress = false});
    const std::vector<float> now = weights_of(trainer);
    trainer.save_in_background(path);
    trainer.fit(fake_data(), {.steps = 8, .progress = false});
    if (communicator.rank() == 0) saved = now;
  });
  CHECK(files_in(folder / "") == 5);  // the index and four parts: the first save's are gone
  launch(3, [&](comm::Threads& communicator) {
    Sharded<ZeRO3> trainer(communicator);
    trainer.load(path);
    const std::vector<float> loaded = weights_of(trainer);
    if (communicator.rank() == 0) saved = loaded == saved ? std::vector<float>{} : std::vector<float>{1};
  });
  CHECK(saved.empty());
}

TEST_CASE("a rank that does not save leaves the older state") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  std::string older;
  launch(2, [&](comm::Threads& communicator) {
    Sharded<ZeRO3> trainer(communicator);
    trainer.save(path);
    if (communicator.rank() == 0) older = bytes_of(path);
  });
  REQUIRE(older.size() > 100);
  std::string said;
  try {
    launch(2, [&](comm::Threads& communicator) {
      Sharded<ZeRO3> trainer(communicator);
      trainer.fit(fake_data(), {.steps = 2, .progress = false});
      // Its part goes where nobody finds it.
      trainer.save_in_background(communicator.rank() == 0 ? path : folder / "elsewhere", std::chrono::seconds(1));
      trainer.finish_saving();
    });
  } catch (const Error& error) { said = error.what(); }
  INFO(said);
  CHECK(said.find("expected the part " + path) != std::string::npos);
  CHECK(said.find("within 1 s, found none") != std::string::npos);
  CHECK(bytes_of(path) == older);
}

TEST_CASE("a kill while a state is being written leaves one that loads") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  struct Shared {
    std::atomic<std::uint64_t> saved{0};
  };
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  std::uint64_t before = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        Alone trainer(Alone::Options{.threads = 1});
        if (std::filesystem::exists(path)) trainer.load(path);
        for (std::uint64_t step = trainer.steps_done();;) {
          trainer.fit(fake_data(), {.steps = ++step, .progress = false});
          trainer.save_in_background(path);  // waits for the one before, which holds step - 1
          shared.saved = step - 1;
        }
      } catch (...) {}
      ::_exit(1);
    }
    for (int waited = 0; shared.saved <= before && waited < 300'000; ++waited) ::usleep(100);
    ::usleep(static_cast<useconds_t>(Philox::mix(7, round) % 4'000));  // a step and a file take less
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::test::reap(child, &status));
    REQUIRE(WIFSIGNALED(status));
    Alone trainer(Alone::Options{.threads = 1});
    trainer.load(path);
    CHECK(trainer.steps_done() > before);
    CHECK(trainer.steps_done() >= shared.saved);
    before = trainer.steps_done();
  }
  ::munmap(memory, sizeof(Shared));
}
// SPDX-License-Identifier: Apache-2.0
