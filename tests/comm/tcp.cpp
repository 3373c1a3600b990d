// Tcp: conformance, in threads and in processes.
// compiled with -fopenmp
#include <regimen/comm/launch_processes.hpp>

#include "comm/conformance.hpp"
#include "comm/relay.hpp"
#include "comm/wrappers.hpp"
#include "support/catch.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using regimen::comm::Tcp;

namespace {

template <class C>
void all(C& ranks) {
  conformance::conform(ranks, 100);
  conformance::in_background(ranks);
  conformance::counts(ranks);
}

}  // namespace

TEST_CASE("processes conform") {
  for (const std::size_t ranks : conformance::worlds) {
    INFO(ranks << " ranks");
    CHECK_NOTHROW(regimen::launch_processes(ranks, all<Tcp>, std::chrono::seconds(60)));
  }
}

#if defined(_OPENMP)
namespace {
int threads_of_a_team(int asked) {
  int count = 0;
#pragma omp parallel num_threads(asked)
#pragma omp single
  count = omp_get_num_threads();
  return count;
}
}  // namespace

TEST_CASE("processes may be started after OpenMP was used, and use it") {
  omp_set_dynamic(0);
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  CHECK(threads_of_a_team(3) == 3);
  CHECK_NOTHROW(regimen::launch_processes(
      2,
      [](Tcp& ranks) {
        ::alarm(60);  // who waits for threads that are not there waits without end
        if (threads_of_a_team(3) != 3) throw std::runtime_error("another team than was asked for");
        if (omp_get_max_threads() != 3)
          throw std::runtime_error("another number of threads than the one that started this");
        ranks.barrier();
      },
      std::chrono::seconds(60)));
  omp_set_num_threads(before);
}
#endif

TEST_CASE("a transfer that is slow but moves outlives a deadline counted from its start") {
  const auto listener = regimen::comm::detail::listen_at({htonl(INADDR_LOOPBACK), 0});
  const test::Tamper slow{.piece = std::size_t{1} << 16, .pause = std::chrono::milliseconds(15)};  // 4 MB/s
  const test::Relay relay(ntohs(regimen::comm::detail::address_of(*listener).port), slow, slow);
  constexpr std::size_t bytes = std::size_t{12} << 20;
  constexpr auto deadline = std::chrono::milliseconds(1500);
  std::array<std::string, 2> words;
  std::array<std::vector<std::byte>, 2> all;
  std::array<double, 2> seconds{};
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      regimen::comm::TcpOptions options;
      options.rank = r;
      options.size = 2;
      options.port = relay.port();
      options.deadline = deadline;
      if (r == 0) options.listener = ::dup(*listener);
      try {
        Tcp world(options);
        std::vector<std::byte> own(bytes);
        for (std::size_t i = 0; i < bytes; ++i) own[i] = static_cast<std::byte>((i * 7 + i / 4099 + r) & 0xFF);
        all[r].resize(2 * bytes);
        const auto began = std::chrono::steady_clock::now();
        world.all_gather(own.data(), all[r].data(), bytes);
        seconds[r] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      } catch (const std::exception& error) { words[r] = error.what(); }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(words == std::array<std::string, 2>{});
  for (std::size_t r = 0; r < 2; ++r) {
    REQUIRE(all[r].size() == 2 * bytes);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 2 * bytes; ++i)
      wrong += all[r][i] != static_cast<std::byte>((i % bytes * 7 + i % bytes / 4099 + i / bytes) & 0xFF) ? 1 : 0;
    CHECK(wrong == 0);
    CHECK(seconds[r] > 1.5 * 1.5);  // longer than the deadline: else this tests nothing
  }
}

TEST_CASE("ranks that wait for ever wait") {
  CHECK_NOTHROW(regimen::launch_processes(
      2,
      [](Tcp& ranks) {
        if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ranks.barrier();
      },
      (regimen::comm::Deadline::max)()));
}
