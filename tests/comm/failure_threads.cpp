// Threads that fail: the others end, in time, with an error that names the one; and nobody reads what is gone.
#include <regimen/comm/background.hpp>
#include <regimen/comm/launch.hpp>

#include "comm/failing.hpp"
#include "support/catch.hpp"

#include <atomic>
#include <mutex>

using failing::says;
using failing::Way;
using regimen::comm::CollectiveKind;
using regimen::comm::PeerError;
using regimen::comm::Threads;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t ranks = 3;

/// What each rank threw; empty where it returned. Ranks are threads, each with its endpoint, as launch makes them.
template <class F>
std::vector<std::string> each(milliseconds deadline, const F& f) {
  std::vector<std::string> words(ranks);
  try {
    regimen::launch(
        ranks,
        [&](Threads& world) {
          try {
            f(world);
          } catch (const std::exception& error) {
            words[world.rank()] = error.what();
            throw;
          }
        },
        deadline);
  } catch (const regimen::Error&) {}
  return words;
}

/// In a rank's thread, where Catch2's assertions must not be.
template <class F>
void require_peer_error(const F& f) {
  try {
    f();
  } catch (const PeerError&) { return; }
  throw std::logic_error("it must throw PeerError");
}

}  // namespace

TEST_CASE("an exception of one thread ends all, at every collective, with its own words") {
  for (std::size_t kind = 0; kind < regimen::comm::collective_kinds; ++kind) {
    for (std::size_t who = 0; who < ranks; ++who) {
      const auto words = each(milliseconds(20000), [&](Threads& world) {
        failing::collective(world, CollectiveKind::ReduceScatter);
        if (world.rank() == who) throw std::runtime_error("it broke");
        failing::collective(world, static_cast<CollectiveKind>(kind));
        failing::collective(world, CollectiveKind::Barrier);
      });
      INFO(name_of_collective(static_cast<CollectiveKind>(kind)) << ", rank " << who);
      for (std::size_t r = 0; r < ranks; ++r) {
        INFO(words[r]);
        CHECK(says(words[r], r == who ? "it broke" : failing::rank_name(who) + " failed: it broke"));
      }
    }
  }
}

TEST_CASE("a thread that hangs is named when the deadline is over, at every collective") {
  for (std::size_t kind = 0; kind < regimen::comm::collective_kinds; ++kind) {
    for (std::size_t who = 0; who < ranks; ++who) {
      std::atomic<std::size_t> ended{0};
      const auto words = each(milliseconds(150), [&](Threads& world) {
        if (world.rank() == who) {
          while (ended < ranks - 1)
            std::this_thread::sleep_for(milliseconds(5));  // only the others' errors let it go on
        }
        try {
          failing::collective(world, static_cast<CollectiveKind>(kind));
        } catch (...) {
          ++ended;
          throw;
        }
      });
      INFO(name_of_collective(static_cast<CollectiveKind>(kind)) << ", rank " << who);
      for (std::size_t r = 0; r < ranks; ++r) {
        INFO(words[r]);
        CHECK(says(words[r], "no sign of rank"));
        CHECK(says(words[r].substr(words[r].find("no sign")), std::to_string(who)));
        CHECK(says(words[r], "within 150 ms"));
        CHECK(says(words[r], name_of_collective(static_cast<CollectiveKind>(kind))));
      }
    }
  }
}

TEST_CASE("a thread that ends too early is named at once, but not by those who need it no more") {
  for (std::size_t run = 0; run < 2 * ranks; ++run) {
    const std::size_t who = run % ranks;
    const bool first = run < ranks;  // it ends before the others need it, or while they wait for it
    const auto words = each(milliseconds(20000), [&](Threads& world) {
      failing::collective(world, CollectiveKind::Barrier);
      if ((world.rank() == who) != first) std::this_thread::sleep_for(milliseconds(30));
      if (world.rank() == who) return;
      failing::collective(world, CollectiveKind::Barrier);
    });
    for (std::size_t r = 0; r < ranks; ++r) {
      INFO(words[r]);
      if (r == who) CHECK(words[r].empty());
      else CHECK(says(words[r], failing::rank_name(who) + " ended without it"));
    }
  }
}

TEST_CASE("ranks in different collectives, or with different sizes or elements, are told so") {
  const auto differ = [](const char* expected, const auto& one, const auto& other) {
    for (const std::string& words :
         each(milliseconds(20000), [&](Threads& world) { world.rank() == 1 ? one(world) : other(world); })) {
      INFO(words);
      CHECK(says(words, expected));
    }
  };
  float numbers[64]{};
  double wide[64]{};
  auto* const bytes = reinterpret_cast<std::byte*>(numbers);
  differ(
      "rank 0 in all_gather number 0 (8 bytes) and rank 1 in barrier number 0", [](Threads& w) { w.barrier(); },
      [&](Threads& w) { w.all_gather(bytes, bytes, 8); });
  differ(
      "(8 bytes) and rank 1 in all_gather number 0 (12 bytes)", [&](Threads& w) { w.all_gather(bytes, bytes, 12); },
      [&](Threads& w) { w.all_gather(bytes, bytes, 8); });
  differ(
      "elements of 4) and rank 1 in reduce_scatter number 0 (16 bytes, elements of 8)",
      [&](Threads& w) { w.reduce_scatter(static_cast<const double*>(wide), wide, 2, bytes); },
      [&](Threads& w) { w.reduce_scatter(static_cast<const float*>(numbers), numbers, 4, bytes); });
}

TEST_CASE("launch rethrows the cause, not a consequence, with its rank and the exception itself") {
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  bool nested = false;
  try {
    regimen::launch(4, [](Threads& world) {
      if (world.rank() == 2) {
        world.leave("mine");
        std::this_thread::sleep_for(
            milliseconds(30));  // the others are through with their exceptions before this one's
        throw Own("mine");
      }
      world.barrier();
    });
  } catch (const regimen::Error& error) {
    CHECK(says(error.what(), "rank 2 failed: mine"));
    try {
      std::rethrow_if_nested(error);
    } catch (const Own&) { nested = true; }
  }
  CHECK(nested);
  CHECK_THROWS_AS(regimen::launch(0, [](Threads&) {}), regimen::Error);
}

TEST_CASE("nothing works after a failure, and leaving twice keeps the first reason") {
  const auto words = each(milliseconds(20000), [&](Threads& world) {
    if (world.rank() == 0) {
      world.leave("the first");
      world.leave("the second");
    }
    for (int turn = 0; turn < 2; ++turn) require_peer_error([&] { world.barrier(); });
    world.barrier();
  });
  for (const std::string& text : words) {
    INFO(text);
    CHECK(says(text, "rank 0 failed: the first"));
  }
}

TEST_CASE("failures at any moment: no hang, and no memory that is gone is read") {
  for (unsigned run = 0; run < 100; ++run) {
    const std::size_t who = run % ranks, turn = run % 7;
    const auto words = each(milliseconds(20000), [&](Threads& world) {
      for (std::size_t i = 0; i < 10; ++i) {
        if (world.rank() == who && i == turn) throw std::runtime_error("it broke");
        failing::collective(world, static_cast<CollectiveKind>((i + run) % regimen::comm::collective_kinds), 5000);
      }
    });
    for (std::size_t r = 0; r < ranks; ++r) CHECK(says(words[r], "it broke"));
  }
}

TEST_CASE("a deadline that falls at any moment: every rank ends, and no memory that is gone is read") {
  for (unsigned run = 0; run < 100; ++run) {
    each(milliseconds(1), [&](Threads& world) {
      for (unsigned i = 0; i < 20; ++i) {
        if ((run * 7 + i * 3 + world.rank() * 5) % 11 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(900 + 13 * run));
        failing::collective(world, static_cast<CollectiveKind>((i + run) % regimen::comm::collective_kinds), 20000);
      }
    });
  }
}

TEST_CASE(
    "Background throws what its collective threw, to everyone who waits from then on; what ended before is good") {
  const auto words = each(milliseconds(20000), [&](Threads& world) {
    std::vector<float> sum(1), all(ranks, 1.0f);
    regimen::comm::Background<Threads> behind(world);
    const regimen::PendingCollective good =
        behind.reduce_scatter(static_cast<const float*>(all.data()), sum.data(), 1, nullptr);
    good.wait();
    if (world.rank() == 1) throw std::runtime_error("it broke");
    const regimen::PendingCollective bad = behind.barrier();
    require_peer_error([&] { bad.wait(); });
    require_peer_error([&] { behind.barrier(); });
    require_peer_error([&] { behind.wait_for_all(); });
    good.wait();
    if (sum[0] != 3) throw std::runtime_error("a wrong sum");
    bad.wait();
  });
  CHECK(words[1] == "it broke");
  CHECK(says(words[0], "rank 1 failed: it broke"));
  CHECK(says(words[2], "rank 1 failed: it broke"));
}

TEST_CASE("an exception while collectives run in the background: they end before the memory goes") {
  for (unsigned run = 0; run < 50; ++run) {
    const std::size_t who = run % ranks;
    const auto words = each(milliseconds(20000), [&](Threads& world) {
      std::vector<float> all(ranks * 30000, 1.0f);
      regimen::comm::Background<Threads> behind(world);
      for (unsigned i = 0; i < 20; ++i) {
        if (world.rank() == who && i == run % 20) {
          if (run % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20 * run));
          throw std::runtime_error("it broke");
        }
        behind.reduce_scatter(static_cast<const float*>(all.data()), all.data() + world.rank() * 30000, 30000, nullptr);
      }
      behind.barrier().wait();
    });
    for (std::size_t r = 0; r < ranks; ++r)
      CHECK(says(words[r], r == who ? "it broke" : failing::rank_name(who) + " failed"));
  }
}
