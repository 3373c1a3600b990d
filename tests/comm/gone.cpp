// Between collectives a rank can ask who is gone: without waiting, and without taking part in anything.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/launch_processes.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>

using namespace regimen;

namespace {

/// What gone() says once it says anything; an error's text if it throws.
template <class Ranks>
std::string asked(Ranks& ranks) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  try {
    while (std::chrono::steady_clock::now() < until) {
      if (const std::string gone = ranks.gone(); !gone.empty()) return gone;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const comm::PeerError& error) { return std::string("thrown: ") + error.what(); }
  return "nobody";
}

enum class End { orderly, leaves, is_killed };

/// Rank 2 of three ends; the others ask, and still gather before it does, and can gather no more after it has left.
template <class Ranks>
void one_ends(Ranks& ranks, End end, const std::string& expected) {
  if (!ranks.gone().empty()) throw std::runtime_error("somebody is gone at the start");
  std::byte own{}, all[3];
  try {
    ranks.all_gather_small(&own, all, 1);
  } catch (const comm::PeerError& error) {  // rank 2 may leave before the others have all bytes
    if (end == End::leaves && std::string(error.what()).find(expected) != std::string::npos) return;
    throw;
  }
  if (ranks.rank() == 2) {
    if (end == End::is_killed) ::raise(SIGKILL);
    if (end == End::leaves) ranks.leave("it is tired");
    return;
  }
  const std::string said = asked(ranks);
  if (said.find(expected) == std::string::npos)
    throw std::runtime_error("not \"" + expected + "\" but \"" + said + "\"");
  if (end != End::leaves) return;
  try {
    ranks.all_gather_small(&own, all, 1);
  } catch (const comm::PeerError&) { return; }
  throw std::runtime_error("it gathers from a rank that has left");
}

}  // namespace

TEST_CASE("a thread that ends or leaves is seen") {
  launch(3, [](comm::Threads& ranks) { one_ends(ranks, End::orderly, "rank"); });
  launch(3, [](comm::Threads& ranks) { one_ends(ranks, End::leaves, "rank 2 failed: it is tired"); });
}

TEST_CASE("a process that ends, leaves or is killed is seen") {
  launch_processes(3, [](comm::Tcp& ranks) { one_ends(ranks, End::orderly, "rank"); });
  launch_processes(3, [](comm::Tcp& ranks) { one_ends(ranks, End::leaves, "rank 2 failed: it is tired"); });
  const std::string error =
      ::test::error_of([] { launch_processes(3, [](comm::Tcp& ranks) { one_ends(ranks, End::is_killed, "2"); }); });
  INFO(error);
  CHECK(::test::says(error, "rank 2"));
  CHECK(!::test::says(error, "not \""));
}
