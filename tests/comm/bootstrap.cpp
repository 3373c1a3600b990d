// How processes meet over TCP, and what they are told when they do not.
#include <regimen/comm/tcp.hpp>

#include "comm/conformance.hpp"
#include "comm/failing.hpp"
#include "support/catch.hpp"

using failing::says;
using regimen::comm::Tcp;
using regimen::comm::TcpOptions;
using regimen::comm::detail::Address;
using regimen::comm::detail::Clock;
using regimen::comm::detail::listen_at;
using regimen::comm::detail::receive_all;
using regimen::comm::detail::send_all;
using regimen::comm::detail::Socket;
using std::chrono::milliseconds;

namespace {

Address loopback(std::uint16_t port = 0) { return {htonl(INADDR_LOOPBACK), htons(port)}; }
std::uint16_t port_of(const Socket& socket) { return ntohs(regimen::comm::detail::address_of(*socket).port); }

/// A port where nobody listens, now.
std::uint16_t free_port() { return port_of(listen_at(loopback())); }

TcpOptions option(std::size_t rank, std::size_t size, std::uint16_t port, milliseconds deadline) {
  TcpOptions options;
  options.rank = rank;
  options.size = size;
  options.port = port;
  options.deadline = deadline;
  return options;
}

/// Each of these in its own thread: a barrier, or the words of what came instead.
std::vector<std::string> meet(const std::vector<TcpOptions>& all) {
  std::vector<std::string> words(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        Tcp world(all[i]);
        world.barrier();
      } catch (const regimen::Error& error) { words[i] = error.what(); }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return words;
}

/// All of them must say all of that.
void require(const std::vector<std::string>& words, const std::vector<std::string>& expected) {
  for (const std::string& text : words) {
    INFO(text);
    for (const std::string& part : expected) {
      INFO(part);
      CHECK(says(text, part));
    }
  }
}

}  // namespace

TEST_CASE("ranks meet in any order, in one process too, and conform") {
  const std::uint16_t port = free_port();
  std::vector<std::string> words(4);
  std::vector<std::thread> threads;
  for (std::size_t r = 4; r-- > 0;) {
    threads.emplace_back([&, r] {
      std::this_thread::sleep_for(milliseconds(r == 0 ? 60 : 10 * r));  // rank 0 last
      try {
        Tcp world(option(r, 4, port, milliseconds(20000)));
        conformance::conform(world, 30, 3000);
      } catch (const std::exception& error) { words[r] = error.what(); }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(words == std::vector<std::string>(4));
}

TEST_CASE("one rank needs no port") {
  Tcp alone(option(0, 1, 0, milliseconds(1000)));
  CHECK_NOTHROW(alone.barrier());
  CHECK_THROWS_AS(Tcp(option(1, 1, 0, milliseconds(1000))), regimen::Error);
}

TEST_CASE("another fingerprint is found at the start, and all are told whose it is") {
  const std::uint16_t port = free_port();
  std::vector<TcpOptions> all;
  for (std::size_t r = 0; r < 4; ++r) all.push_back(option(r, 4, port, milliseconds(20000)));
  all[1].fingerprint = all[3].fingerprint = 7;
  require(meet(all), {"ranks 1 and 3 with another fingerprint than rank 0"});
}

TEST_CASE("another world size, the same rank twice, a rank beyond the last: all are told") {
  const auto wide = milliseconds(20000);
  std::uint16_t port = free_port();
  require(meet({option(0, 2, port, wide), option(1, 3, port, wide)}), {"rank 1 was told of 3 ranks, rank 0 of 2"});
  port = free_port();
  require(meet({option(0, 3, port, wide), option(1, 3, port, wide), option(1, 3, port, wide)}), {"two processes that say they are rank 1"});
}

TEST_CASE("ranks that do not come are named by rank 0, to those who came") {
  const std::uint16_t port = free_port();
  require(meet({option(0, 4, port, milliseconds(400)), option(2, 4, port, milliseconds(2000))}), {"no sign of ranks 1 and 3 within 400 ms"});
}

TEST_CASE("nobody at the address") {
  require(meet({option(1, 2, free_port(), milliseconds(200))}),
          {"rank 1 of 2, meeting rank 0 at 127.0.0.1:", "to listen within 200 ms", "refused", "MASTER_PORT"});
  TcpOptions nowhere = option(1, 2, 1, milliseconds(200));
  nowhere.address = "a name that is none";
  require(meet({nowhere}), {"MASTER_ADDR", "a name that is none"});
}

TEST_CASE("a port that another program holds") {
  const Socket holder = listen_at(loopback());
  require(meet({option(0, 2, port_of(holder), milliseconds(1000))}), {"listening at 127.0.0.1:", "in use", "MASTER_PORT"});
}

TEST_CASE("another program at the address: one that says nothing, one that hangs up, one that speaks of other things") {
  const Socket silent = listen_at(loopback());
  require(meet({option(1, 2, port_of(silent), milliseconds(200))}), {"its answer within 200 ms", "another program"});

  const auto answers = [](const std::string& text, const std::vector<std::string>& expected) {
    const Socket other = listen_at(loopback());
    std::thread server([&] {
      Address from;
      const Socket socket = accept_at(*other, Clock::now() + std::chrono::seconds(20), from);
      regimen::comm::detail::Hello hello;
      receive_all(*socket, &hello, sizeof hello, Clock::now() + std::chrono::seconds(20));
      send_all(*socket, text.data(), text.size(), Clock::now() + std::chrono::seconds(20));
    });
    const auto words = meet({option(1, 2, port_of(other), milliseconds(20000))});
    server.join();
    require(words, expected);
  };
  answers("", {"a closed connection", "another program"});
  answers("HTTP/1.1 400 Bad Request\r\n\r\n", {"other bytes", "another program listens there"});
}

TEST_CASE("strangers who knock at rank 0 are not ranks") {
  Socket listener = listen_at(loopback());
  const std::uint16_t port = port_of(listener);
  const auto soon = Clock::now() + std::chrono::seconds(20);
  const Socket silent = connect_to(loopback(port), soon), talker = connect_to(loopback(port), soon);
  const std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n some more";
  REQUIRE(send_all(*talker, text.data(), text.size(), soon));
  TcpOptions first = option(0, 3, port, milliseconds(20000));
  first.listener = ::dup(*listener);
  { const Socket closed = std::move(listener); }
  CHECK(meet({first, option(1, 3, port, milliseconds(20000)), option(2, 3, port, milliseconds(20000))}) == std::vector<std::string>(3));
  const auto words = meet({option(0, 2, free_port(), milliseconds(1))});
  CHECK(says(words[0], "no sign of rank 1"));
}

TEST_CASE("what Tcp needs of a rendezvous") {
  regimen::comm::Membership world;
  world.rank = 1;
  world.size = 4;
  world.said = "OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=4";
  const auto error = [&]() -> std::string {
    try {
      tcp_options(world, 0);
    } catch (const regimen::Error& thrown) { return thrown.what(); }
    return {};
  };
  require({error()}, {"OMPI_COMM_WORLD_RANK=1", "no MASTER_ADDR"});
  world.address = "localhost";
  require({error()}, {"no MASTER_PORT"});
  world.port = 29500;
  const TcpOptions options = regimen::comm::tcp_options(world, 5, milliseconds(7));
  CHECK((options.rank == 1 && options.size == 4 && options.address == "localhost" && options.port == 29500 && options.fingerprint == 5 &&
         options.deadline == milliseconds(7) && options.listener == -1));
}
