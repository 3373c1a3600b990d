// Ranks that are processes: one throws or sleeps, wherever it may be in its training. All others end in time and name
// it, and what was saved
// is loaded by as many ranks, or fewer.
#include <regimen/comm/launch_processes.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"
#include "train/failing_ranks.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using std::chrono::milliseconds;

namespace {

using Train = Trainer<Tied<3>, Batch<2>, Communicator<Tcp>, Shard<ZeRO3>>;
constexpr std::size_t ranks = 3;
/// Within so many deadlines a sleep ends all: one, and before it what a busy machine takes for the batches that were
/// read ahead.
constexpr int most_deadlines = 10;

std::int64_t now() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What a training came to. All its processes write it.
struct Told {
  char said[ranks][4096], of_all[8192], after[4096];
  std::atomic<std::int64_t> failed_at, ended_at[ranks];
  std::atomic<std::uint64_t> resumed_at[2];
  std::atomic<int> is_done;
};
/// Memory that processes share with those they start.
class AllTold final {
 public:
  explicit AllTold(std::size_t count) : bytes_(count * sizeof(Told)) {
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
    all_ = static_cast<Told*>(memory);
    for (std::size_t i = 0; i < count; ++i) new (all_ + i) Told{};
  }
  AllTold(const AllTold&) = delete;
  AllTold& operator=(const AllTold&) = delete;
  ~AllTold() { ::munmap(static_cast<void*>(all_), bytes_); }
  Told& operator[](std::size_t i) { return all_[i]; }

 private:
  std::size_t bytes_;
  Told* all_;
};

void put(char* to, std::size_t size, const std::string& text) { std::snprintf(to, size, "%s", text.c_str()); }

std::string words_of(const auto& action) {
  try {
    action();
  } catch (const std::exception& error) { return error.what(); }
  return "";
}

/// What rank `culprit` does in its phase; in the middle of a save nobody but the system can make it fail.
std::function<void()> failure(bool sleeps, Phase phase, milliseconds deadline, Told& told) {
  return [=, &told] {
    std::int64_t never = 0;
    if (!told.failed_at.compare_exchange_strong(never, now()) && sleeps) return;  // once
    if (sleeps) {  // until somebody minds: what was read ahead hides a sleep for a while
      const auto is_noticed = [&] {
        return std::ranges::any_of(told.ended_at, [](const auto& ended) { return ended != 0; });
      };
      for (milliseconds slept{}; !is_noticed() && slept < most_deadlines * deadline; slept += milliseconds(10))
        std::this_thread::sleep_for(milliseconds(10));
    } else if (phase != Phase::save) throw std::runtime_error("this sample is bad");
    else {
      const ::rlimit limit{4096, 4096};
      std::signal(SIGXFSZ, SIG_IGN);
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
  };
}

/// A training in which one rank fails, and two that go on from what it saved: of as many ranks, and of fewer.
void one_training(const std::string& path, bool sleeps, Phase phase, std::size_t culprit, milliseconds deadline,
                  Told& told) {
  const std::string before =
      words_of([&] { launch_processes(ranks, [&](comm::Tcp& world) { train_and_save<Train>(world, path, false); }); });
  put(told.of_all, sizeof told.of_all, words_of([&] {
        launch_processes(
            ranks,
            [&](comm::Tcp& world) {
              const std::size_t me = world.rank();
              try {
                train_until_failure<Train>(
                    world, path, phase,
                    me == culprit ? failure(sleeps, phase, deadline, told) : std::function<void()>{}, path);
              } catch (const std::exception& error) {
                told.ended_at[me] = now();
                put(told.said[me], sizeof told.said[me], error.what());
                throw;
              }
            },
            deadline);
      }));
  std::string after;
  std::size_t resumed = 0;
  for (const std::size_t count : {ranks, 1 + culprit % 2}) {
    after += words_of([&] {
      launch_processes(count, [&](comm::Tcp& world) {
        const std::uint64_t first = train_and_save<Train>(world, path, true);
        if (world.rank() == 0) told.resumed_at[resumed] = first;
      });
    });
    ++resumed;
  }
  put(told.after, sizeof told.after, before + after);
  told.is_done = 1;
}

/// Every phase on every rank, side by side, as most of them only wait. Each in a process of its own: launch_processes
/// wants no threads.
void each_phase_on_each_rank(bool sleeps, milliseconds deadline, const auto& check) {
  const ::test::Directory folder;
  AllTold all(phases * ranks);
  std::vector<::pid_t> children;
  for (std::size_t i = 0; i < phases * ranks; ++i) {
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      one_training(folder / std::to_string(i), sleeps, static_cast<Phase>(i / ranks), i % ranks, deadline, all[i]);
      ::_exit(0);
    }
    children.push_back(child);
    if (children.size() % ranks == 0 && !sleeps)  // these compute: not too many at once
      for (const ::pid_t one : std::exchange(children, {})) CHECK(::test::reap(one));
  }
  for (const ::pid_t one : children) CHECK(::test::reap(one));
  for (std::size_t i = 0; i < phases * ranks; ++i) {
    Told& told = all[i];
    INFO(name_of_phase[i / ranks] << ", rank " << i % ranks << "\nall: " << told.of_all << "\nafter: " << told.after);
    REQUIRE(told.is_done == 1);
    CHECK(std::string(told.after) == "");
    CHECK(told.resumed_at[0] >= 2);
    CHECK(told.resumed_at[1] == told.resumed_at[0] + 2);
    CHECK_FALSE(::test::says(told.of_all, "did not end"));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      INFO("rank " << rank << ": " << told.said[rank]);
      CHECK(told.said[rank][0] != '\0');
      check(told, static_cast<Phase>(i / ranks), rank, i % ranks);
    }
  }
  CHECK(folder.files() ==
        phases * (1 + 3 + 1));  // of one rank one file, of two an index and two parts; nothing else is left
}

}  // namespace

TEST_CASE("an exception in any phase on any rank ends all processes at once, and the run goes on from what was saved") {
  each_phase_on_each_rank(
      false, milliseconds(20000), [](Told& told, Phase phase, std::size_t rank, std::size_t culprit) {
        CHECK(::test::says(told.said[rank], phase == Phase::save ? "File too large" : "this sample is bad"));
        const std::string whose = phase == Phase::step ? "callback 1 of fit, told of step " : "";
        if (rank != culprit)
          CHECK(::test::says(told.said[rank], "rank " + std::to_string(culprit) + " failed: " + whose));
        CHECK(told.ended_at[rank] - told.failed_at < 10000);  // not by the deadline
      });
}

TEST_CASE(
    "a sleep in any phase on any rank is named when the deadline is over, and the run goes on from what was saved") {
  static constexpr milliseconds deadline(2000);
  each_phase_on_each_rank(true, deadline, [](Told& told, Phase, std::size_t rank, std::size_t culprit) {
    const std::string said = told.said[rank], name = std::to_string(culprit);
    if (rank == culprit) return;
    CHECK(::test::says(said, "no sign of rank"));
    CHECK((::test::says(said, name + " within 2 s") || ::test::says(said, name + " and ")));
    CHECK(told.ended_at[rank] - told.failed_at < most_deadlines * deadline.count());
  });
}
// SPDX-License-Identifier: Apache-2.0
