// tests/train/failing_threads.hpp — ranks that are threads: one throws or sleeps, wherever it may be in its training.
// All others end in time and name it, and what was saved is loaded by as many ranks, or fewer.
#pragma once

#include <regimen/comm/launch.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"
#include "train/failing_ranks.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace regimen::test {

using std::chrono::milliseconds;

inline constexpr std::size_t failing_ranks = 3;
/// Within so many deadlines a sleep ends all: one, and before it what a busy machine takes for the batches that were
/// read ahead.
inline constexpr int most_deadlines = 10;

/// What a training came to.
struct Told {
  std::string said[failing_ranks], of_all, around;
  std::uint64_t resumed_at[2]{};
  std::chrono::steady_clock::duration took{};
};

inline std::string words_of(const auto& action) {
  try {
    action();
  } catch (const std::exception& error) { return error.what(); }
  return "";
}

/// A training in which one rank fails, and two that go on from what it saved.
template <class Train>
void one_training(const std::string& path, bool sleeps, Phase phase, std::size_t culprit, milliseconds deadline,
                  Told& told) {
  constexpr std::size_t ranks = failing_ranks;
  told.around =
      words_of([&] { launch(ranks, [&](comm::Threads& world) { train_and_save<Train>(world, path, false); }); });
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> failed{false}, is_noticed{false};
  const auto fail = [&] {
    if (sleeps) {  // once, and until somebody minds: what was read ahead hides a sleep for a while
      if (failed.exchange(true)) return;
      for (milliseconds slept{}; !is_noticed && slept < most_deadlines * deadline; slept += milliseconds(10))
        std::this_thread::sleep_for(milliseconds(10));
    } else if (phase != Phase::save) {
      throw std::runtime_error("this sample is bad");
    }
  };
  told.of_all = words_of([&] {
    launch(
        ranks,
        [&](comm::Threads& world) {
          std::string& said = told.said[world.rank()];
          try {
            train_until_failure<Train>(world, path, phase, world.rank() == culprit ? fail : std::function<void()>{},
                                       sleeps ? path : path + "/no such folder");
          } catch (const std::exception& error) {
            said = error.what();
            is_noticed = true;
            throw;
          }
        },
        deadline);
  });
  told.took = std::chrono::steady_clock::now() - start;
  for (const std::size_t resumed : {0u, 1u})
    told.around += words_of([&] {
      launch(resumed == 0 ? ranks : 1 + culprit % 2, [&](comm::Threads& world) {
        const std::uint64_t first = train_and_save<Train>(world, path, true);
        if (world.rank() == 0) told.resumed_at[resumed] = first;
      });
    });
}

/// Every phase on every rank, side by side, as most of them only wait.
template <class Train>
void each_phase_on_each_rank(bool sleeps, milliseconds deadline, const auto& check) {
  constexpr std::size_t ranks = failing_ranks;
  const ::test::Directory folder;
  std::vector<Told> all(phases * ranks);
  std::vector<std::thread> trainings;
  for (std::size_t i = 0; i < phases * ranks; ++i) {
    trainings.emplace_back([&, i] {
      one_training<Train>(folder / std::to_string(i), sleeps, static_cast<Phase>(i / ranks), i % ranks, deadline,
                          all[i]);
    });
    if (!sleeps) trainings.back().join();
  }
  for (std::thread& training : trainings)
    if (training.joinable()) training.join();
  for (std::size_t i = 0; i < phases * ranks; ++i) {
    const Told& told = all[i];
    INFO(name_of_phase[i / ranks] << ", rank " << i % ranks << "\nall: " << told.of_all << "\naround: " << told.around);
    CHECK(told.around == "");
    CHECK(told.resumed_at[0] >= 2);
    CHECK(told.resumed_at[1] == told.resumed_at[0] + 2);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      INFO("rank " << rank << ": " << told.said[rank]);
      CHECK(told.said[rank] != "");
      check(told, static_cast<Phase>(i / ranks), rank, i % ranks);
    }
  }
  CHECK(folder.files() ==
        phases * (1 + 3 + 1));  // of one rank one file, of two an index and two parts; nothing else is left
}

/// An exception ends all at once.
template <class Train>
void exceptions_end_all() {
  each_phase_on_each_rank<Train>(
      false, milliseconds(20000), [](const Told& told, Phase phase, std::size_t rank, std::size_t culprit) {
        CHECK(::test::says(told.said[rank], phase == Phase::save ? "no such folder" : "this sample is bad"));
        const std::string whose = phase == Phase::step ? "callback 1 of fit, told of step " : "";
        if (rank != culprit)
          CHECK(::test::says(told.said[rank], "rank " + std::to_string(culprit) + " failed: " + whose));
        CHECK(::test::says(told.of_all, "rank " + std::to_string(culprit) + " failed: "));
        CHECK(told.took < milliseconds(10000));  // not by the deadline
      });
}

/// A sleep is named when the deadline is over.
template <class Train>
void sleeps_end_all() {
  static constexpr milliseconds deadline(2000);
  each_phase_on_each_rank<Train>(true, deadline, [](const Told& told, Phase, std::size_t rank, std::size_t culprit) {
    const std::string& said = told.said[rank];
    CHECK(::test::says(said, "no sign of rank " + std::to_string(culprit) + " within 2 s"));
    CHECK(told.took < most_deadlines * deadline);
  });
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
