// Processes that fail: the others end, in time, with an error that names the one.
#include <regimen/comm/launch_processes.hpp>

#include "comm/failing.hpp"
#include "support/catch.hpp"

#include <csignal>

using failing::says;
using failing::Way;
using regimen::comm::CollectiveKind;
using regimen::comm::Tcp;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t ranks = 3;

/// What launch_processes says of all ranks.
template <class F>
std::string report(std::size_t count, milliseconds deadline, const F& f) {
  try {
    regimen::launch_processes(count, f, deadline);
  } catch (const regimen::Error& error) { return error.what(); }
  return {};
}

/// Rank `who` fails in `way` at a collective; what all ranks say of it.
std::string failure(Way way, CollectiveKind kind, std::size_t who, milliseconds deadline) {
  return report(ranks, deadline, [=](Tcp& world) {
    failing::collective(world, CollectiveKind::ReduceScatter);
    if (world.rank() == who) {
      if (way == Way::Throw) throw std::runtime_error("it broke");
      if (way == Way::End) return;
      if (way == Way::Kill) ::raise(SIGKILL);
      std::this_thread::sleep_for(deadline + deadline / 2);
    }
    failing::collective(world, kind);
  });
}

std::size_t times(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a process that throws, ends too early, or is killed is named at once, at every collective") {
  for (std::size_t kind = 0; kind < regimen::comm::collective_kinds; ++kind) {
    for (std::size_t who = 0; who < ranks; ++who) {
      const std::string name = failing::rank_name(who);
      const auto at = static_cast<CollectiveKind>(kind);
      const std::string thrown = failure(Way::Throw, at, who, milliseconds(20000));
      INFO(name_of_collective(at) << ", rank " << who << ": " << thrown);
      CHECK(times(thrown, name + " failed: it broke") == ranks);  // in its own words, and twice as heard

      const std::string ended = failure(Way::End, at, who, milliseconds(20000));
      INFO(ended);
      CHECK(times(ended, "the connection to " + name + " was closed") == ranks - 1);

      const std::string killed = failure(Way::Kill, at, who, milliseconds(20000));
      INFO(killed);
      CHECK(says(killed, "found " + name + " was ended by signal 9"));
      CHECK(times(killed, "the connection to " + name + " was closed") == ranks - 1);
    }
  }
}

TEST_CASE("a process that hangs is named when the deadline is over, at every collective") {
  for (std::size_t kind = 0; kind < regimen::comm::collective_kinds; ++kind) {
    const std::size_t who = (kind + 1) % ranks;
    const std::string hung = failure(Way::Hang, static_cast<CollectiveKind>(kind), who, milliseconds(800));
    INFO(hung);
    // The one that hung may still find all that it needs in its buffers when it wakes up, and end well.
    CHECK(times(hung, "no sign of rank") >= ranks - 1);
    CHECK(times(hung, std::to_string(who) + " within 800 ms") + times(hung, std::to_string(who) + " and ") >=
          ranks - 1);
  }
}

TEST_CASE("a process that is killed in the middle of large messages is named") {
  for (std::size_t run = 0; run < 10; ++run) {
    const std::size_t who = run % ranks;
    const std::string killed = report(ranks, milliseconds(20000), [&](Tcp& world) {
      if (world.rank() == who) {
        std::thread([run] {
          std::this_thread::sleep_for(milliseconds(20 + 3 * run));
          ::raise(SIGKILL);
        }).detach();
      }
      for (;;) failing::collective(world, static_cast<CollectiveKind>(run % 3), 300000);
    });
    INFO(killed);
    CHECK(says(killed, "found " + failing::rank_name(who) + " was ended by signal 9"));
    CHECK(times(killed, "the connection to " + failing::rank_name(who) + " was closed") == ranks - 1);
  }
}

TEST_CASE("processes in different collectives, or with different sizes, are told so") {
  const std::string kinds = report(2, milliseconds(20000), [](Tcp& world) {
    failing::collective(world, world.rank() == 0 ? CollectiveKind::Barrier : CollectiveKind::AllGather);
  });
  INFO(kinds);
  CHECK(says(kinds, "rank 0 in barrier number 0 and rank 1 in all_gather number 0 (4000 bytes)"));
  const std::string sizes = report(2, milliseconds(20000), [](Tcp& world) {
    failing::collective(world, CollectiveKind::ReduceScatter, 10 + world.rank());
  });
  INFO(sizes);
  CHECK(says(sizes,
             "number 0 (40 bytes, elements of 4) and rank 1 in reduce_scatter number 0 (44 bytes, elements of 4)"));
}

TEST_CASE("a process that ends when all is done is nobody's failure, however late the others are") {
  for (int run = 0; run < 5; ++run) {
    CHECK(report(4, milliseconds(20000), [](Tcp& world) {
            for (std::size_t kind = 0; kind < regimen::comm::collective_kinds; ++kind) {
              if (world.rank() == kind % 4) std::this_thread::sleep_for(milliseconds(2));
              failing::collective(world, static_cast<CollectiveKind>(kind), 10000);
            }
          }).empty());
  }
}
