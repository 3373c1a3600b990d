// How processes meet over TCP, and what they are told when they do not.
#include <regimen/comm/detail/handshake.hpp>
#include <regimen/comm/tcp.hpp>

#include "comm/conformance.hpp"
#include "comm/failing.hpp"
#include "comm/relay.hpp"
#include "support/catch.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>

using failing::says;
using regimen::comm::Tcp;
using regimen::comm::TcpOptions;
using regimen::comm::detail::Address;
using regimen::comm::detail::Challenge;
using regimen::comm::detail::Clock;
using regimen::comm::detail::Digest;
using regimen::comm::detail::Hello;
using regimen::comm::detail::is_closed;
using regimen::comm::detail::listen_at;
using regimen::comm::detail::PendingConnections;
using regimen::comm::detail::receive_all;
using regimen::comm::detail::send_all;
using regimen::comm::detail::Socket;
using regimen::comm::detail::Transcript;
using regimen::comm::detail::wait_for;
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
  require(meet({option(0, 3, port, wide), option(1, 3, port, wide), option(1, 3, port, wide)}),
          {"two processes that say they are rank 1"});
}

TEST_CASE("ranks that do not come are named by rank 0, to those who came") {
  const std::uint16_t port = free_port();
  require(meet({option(0, 4, port, milliseconds(400)), option(2, 4, port, milliseconds(2000))}),
          {"no sign of ranks 1 and 3 within 400 ms"});
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
  require(meet({option(0, 2, port_of(holder), milliseconds(1000))}),
          {"listening at 127.0.0.1:", "in use", "MASTER_PORT"});
}

TEST_CASE("another program at the address: one that says nothing, one that hangs up, one that speaks of other things") {
  const Socket silent = listen_at(loopback());
  require(meet({option(1, 2, port_of(silent), milliseconds(200))}), {"its answer within 200 ms", "another program"});

  const auto answers = [](const std::string& text, const std::vector<std::string>& expected) {
    const Socket other = listen_at(loopback());
    std::atomic<bool> is_done = false;
    std::thread server([&] {  // to all who come: a rank calls again when it was hung up on
      while (!is_done) {
        const auto soon = Clock::now() + std::chrono::seconds(20);
        Address from;
        if (!wait_for(*other, POLLIN, Clock::now() + milliseconds(10))) continue;
        const Socket socket = accept_next(*other, from);
        Hello hello;
        receive_all(*socket, &hello, sizeof hello, soon);
        send_all(*socket, text.data(), text.size(), soon);
      }
    });
    const auto words = meet({option(1, 2, port_of(other), milliseconds(20000))});
    is_done = true;
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
  CHECK(meet({first, option(1, 3, port, milliseconds(20000)), option(2, 3, port, milliseconds(20000))}) ==
        std::vector<std::string>(3));
  const auto words = meet({option(0, 2, free_port(), milliseconds(1))});
  CHECK(says(words[0], "no sign of rank 1"));
}

namespace {

const std::string secret = "what nobody but these ranks can know", another = "what nobody but those ranks can know";

/// A hello that looks like one of `rank` of `size`, as anybody can send it.
Hello forged(std::uint32_t rank, std::uint32_t size, std::uint32_t to = 0) {
  Hello hello;
  hello.rank = rank;
  hello.size = size;
  hello.to = to;
  hello.nonce.fill(7);
  return hello;
}
/// Says it and, when it is challenged, proves that it knows `known`, or says `recorded`. The connection stays open.
std::pair<Socket, Digest> knock(std::uint16_t port, const Hello& hello, const std::string& known,
                                const Digest* recorded = nullptr) {
  const auto soon = Clock::now() + std::chrono::seconds(20);
  Socket socket = connect_to(loopback(port), soon);
  Transcript transcript{hello, {}};
  REQUIRE(send_all(*socket, &hello, sizeof hello, soon));
  REQUIRE(receive_all(*socket, &transcript.challenge, sizeof(Challenge), soon));
  REQUIRE(transcript.challenge.magic == Challenge{}.magic);
  const Digest proof = recorded != nullptr ? *recorded : transcript.proof_of_caller(known);
  REQUIRE(send_all(*socket, &proof, sizeof proof, soon));
  return {std::move(socket), proof};
}
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Runs body in a process of its own, whose limits are its own: what it returned, or how it ended.
template <class Body>
std::string in_process(const Body& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const ::pid_t process = ::fork();
  if (process == 0) {
    const std::string text = body();
    [[maybe_unused]] const auto said = ::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(4096, ' ');
  const ::ssize_t count = ::read(ends[0], text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? text : "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

TEST_CASE("silent strangers keep nobody waiting, however many there are") {
  Socket listener = listen_at(loopback());
  const std::uint16_t port = port_of(listener);
  std::vector<Socket> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect_to(loopback(port), Clock::now() + std::chrono::seconds(20)));
  TcpOptions first = option(0, 3, port, milliseconds(60000));
  first.listener = ::dup(*listener);
  { const Socket closed = std::move(listener); }
  const auto start = Clock::now();
  CHECK(meet({first, option(1, 3, port, milliseconds(60000)), option(2, 3, port, milliseconds(60000))}) ==
        std::vector<std::string>(3));
  CHECK(seconds_since(start) < 10);  // one after another, a second each, they took 200
}

TEST_CASE("with a secret a stranger takes no seat, whatever it says") {
  for (const std::string& known : {std::string(), another}) {
    Socket listener = listen_at(loopback());
    const std::uint16_t port = port_of(listener);
    std::vector<TcpOptions> all;
    for (std::size_t r = 0; r < 3; ++r) {
      all.push_back(option(r, 3, port, milliseconds(20000)));
      all.back().secret = secret;
    }
    all[0].listener = ::dup(*listener);
    { const Socket closed = std::move(listener); }
    std::vector<std::string> first(1);
    std::thread rank_0([&] { first = meet({all[0]}); });
    std::vector<Socket> forgers;
    // With the proof that one can make who has another secret or none; the challenge is a new one each time.
    for (const Hello& hello : {forged(1, 3), forged(1, 3), forged(2, 4), forged(9, 3)})
      forgers.push_back(knock(port, hello, known).first);
    CHECK(meet({all[1], all[2]}) == std::vector<std::string>(2));
    rank_0.join();
    CHECK(first[0].empty());
  }
}

TEST_CASE("what was recorded of a handshake opens no other connection") {
  const Socket listener = listen_at(loopback());
  PendingConnections pending(*listener, 0, secret, 8);
  for (const bool replayed : {false, true}) {
    static Digest proof;
    std::optional<PendingConnections::Arrival> arrival;
    std::thread server([&] { arrival = pending.next(Clock::now() + milliseconds(replayed ? 500 : 20000)); });
    const auto [socket, said] = knock(port_of(listener), forged(1, 2), secret, replayed ? &proof : nullptr);
    proof = said;
    server.join();
    CHECK(arrival.has_value() != replayed);
  }
  CHECK(says(pending.refused(), "1 connection with another REGIMEN_SECRET, or none, the last one from 127.0.0.1"));
}

TEST_CASE("a byte that is changed in any message of a handshake: no connection, with a secret or without") {
  for (const std::string& known : {secret, std::string()}) {
    const Socket listener = listen_at(loopback());
    PendingConnections pending(*listener, 0, known, 8);
    const std::string body = "addresses";
    enum Outcome { Refused, Forsaken, Believed };  // by the side that listens; by the side that called; by both
    // Once through a relay that changes nothing, to count the bytes; then with each byte changed.
    const auto meeting = [&](std::size_t up, std::size_t down, std::pair<std::size_t, std::size_t>& bytes) {
      const test::Relay relay(port_of(listener), {.position = up}, {.position = down});
      std::atomic<bool> is_done = false;
      bool is_admitted = false;
      std::thread server([&] {
        while (!is_done) {
          const auto arrival = pending.next(Clock::now() + milliseconds(5));
          if (!arrival) continue;
          is_admitted = true;
          regimen::comm::detail::Answer answer;
          answer.bytes = static_cast<std::uint32_t>(body.size());
          answer.proof = arrival->transcript.proof_of_answer(
              known, answer, regimen::comm::detail::Sha256().add(body.data(), body.size()).finish());
          const auto soon = Clock::now() + std::chrono::seconds(20);
          send_all(*arrival->socket, &answer, sizeof answer, soon);
          send_all(*arrival->socket, body.data(), body.size(), soon);
          // Stays until the caller hangs up, which may be waiting for more.
          while (!is_done && !is_closed(*arrival->socket)) std::this_thread::sleep_for(milliseconds(1));
        }
      });
      Transcript transcript;
      transcript.hello = forged(1, 2);
      transcript.hello.port = 7;
      const auto soon = Clock::now() + milliseconds(300);  // for lengths that were changed
      std::string heard_body;
      using regimen::comm::detail::HandshakeReply;
      auto heard = HandshakeReply::Ended;
      {
        const Socket socket = connect_to(loopback(relay.port()), Clock::now() + std::chrono::seconds(20));
        const auto called = regimen::comm::detail::prove(*socket, transcript, known, soon);
        if (called == HandshakeReply::Challenge)
          heard = regimen::comm::detail::hear(*socket, transcript, known, soon, heard_body);
      }
      is_done = true;
      server.join();
      bytes = {relay.bytes_up, relay.bytes_down};
      if (!is_admitted) return Refused;
      const bool is_believed =
          heard == HandshakeReply::Welcome || heard == HandshakeReply::Refusal || heard == HandshakeReply::Later;
      return is_believed ? Believed : Forsaken;
    };
    std::pair<std::size_t, std::size_t> all, few;
    REQUIRE(meeting(test::Tamper::none, test::Tamper::none, all) == Believed);
    REQUIRE(all.first == sizeof(Hello) + sizeof(Digest));
    REQUIRE(all.second == sizeof(Challenge) + sizeof(regimen::comm::detail::Answer) + body.size());
    for (std::size_t i = 0; i < all.first; ++i) {
      INFO("byte " << i << " of the caller, secret: " << known);
      CHECK(meeting(i, test::Tamper::none, few) == Refused);
    }
    for (std::size_t i = 0; i < all.second; ++i) {
      INFO("byte " << i << " of the answers, secret: " << known);
      CHECK(meeting(test::Tamper::none, i, few) == (i < sizeof(Challenge) ? Refused : Forsaken));
    }
  }
}

TEST_CASE("a proof is for one rank, port, world, program and channel") {
  const Socket listener = listen_at(loopback());
  PendingConnections pending(*listener, 0, secret, 8);
  const auto is_admitted = [&](const Hello& said, const Hello& proved) {
    std::optional<PendingConnections::Arrival> arrival;
    std::atomic<bool> is_done = false;
    std::thread server([&] {
      while (!arrival && !is_done) arrival = pending.next(Clock::now() + milliseconds(10));
    });
    const auto soon = Clock::now() + std::chrono::seconds(20);
    const Socket socket = connect_to(loopback(port_of(listener)), soon);
    Transcript transcript{proved, {}};
    send_all(*socket, &said, sizeof said, soon);
    if (receive_all(*socket, &transcript.challenge, sizeof(Challenge), soon)) {
      const Digest proof = transcript.proof_of_caller(secret);
      send_all(*socket, &proof, sizeof proof, soon);
      // A refusal is an answer, or the end of the connection; who is admitted hears nothing here.
      for (char byte = 0; !arrival && !receive_all(*socket, &byte, 1, Clock::now() + milliseconds(10));)
        if (errno != ETIMEDOUT) break;
    }
    is_done = true;
    server.join();
    return arrival.has_value();
  };
  const Hello own = forged(1, 3);
  CHECK(is_admitted(own, own));
  const auto with = [&](auto Hello::* field) {
    Hello other = own;
    other.*field += 1;
    return other;
  };
  for (const Hello& other : {with(&Hello::rank), with(&Hello::size), with(&Hello::to), with(&Hello::port),
                             with(&Hello::channel), with(&Hello::fingerprint)}) {
    CHECK_FALSE(is_admitted(own, other));  // a proof that is valid elsewhere
    CHECK_FALSE(is_admitted(other, own));
  }
  CHECK_FALSE(is_admitted(with(&Hello::to), with(&Hello::to)));  // valid, for another rank
}

TEST_CASE("ranks whose secrets differ are told so, and nobody is told a secret") {
  for (const auto& [theirs, ours] :
       {std::pair(secret, another), std::pair(secret, std::string()), std::pair(std::string(), secret)}) {
    const std::uint16_t port = free_port();
    TcpOptions first = option(0, 2, port, milliseconds(500)), second = option(1, 2, port, milliseconds(20000));
    first.secret = theirs;
    second.secret = ours;
    const std::vector<std::string> words = meet({first, second});
    INFO(words[0] << '\n' << words[1]);
    CHECK(says(
        words[0],
        "no sign of rank 1 within 500 ms, but 1 connection with another REGIMEN_SECRET, or none, the last one from 127.0.0.1"));
    CHECK(says(words[1], ours.empty() ? "that it has a REGIMEN_SECRET, and this rank none"
                                      : "another REGIMEN_SECRET than this rank"));
    CHECK(says(words[1], "set REGIMEN_SECRET to the same for all ranks"));
    for (const std::string& text : words) CHECK((!says(text, secret) && !says(text, another)));
  }
}

TEST_CASE("who gave its seat up is not in the way of the rank") {
  Socket listener = listen_at(loopback());
  const std::uint16_t port = port_of(listener);
  TcpOptions first = option(0, 3, port, milliseconds(20000));
  first.listener = ::dup(*listener);
  { const Socket closed = std::move(listener); }
  std::vector<std::string> words(1);
  std::thread rank_0([&] { words = meet({first}); });
  { const auto closed = knock(port, forged(1, 3), {}); }
  CHECK(meet({option(1, 3, port, milliseconds(20000)), option(2, 3, port, milliseconds(20000))}) ==
        std::vector<std::string>(2));
  rank_0.join();
  CHECK(words[0].empty());
}

TEST_CASE("more ranks than can be are refused before anything is taken for them") {
  const auto start = Clock::now();
  require(meet({option(1, 100000000, 1, milliseconds(5000))}), {"at most 16384 ranks", "100000000", "WORLD_SIZE"});
  CHECK(seconds_since(start) < 1);
}

TEST_CASE("too few open files are said to be that, and no missing rank") {
  const auto limit = [](::rlim_t files) {
    const ::rlimit few{files, files};
    ::setrlimit(RLIMIT_NOFILE, &few);
  };
  const std::string before = in_process([&] {
    limit(100);
    return meet({option(0, 200, 1, milliseconds(5000))})[0];
  });
  INFO(before);
  CHECK(says(
      before,
      "rank 0 of 200: expected 414 open files at least, two for each other rank, found a limit of 100; raise it with ulimit -n"));

  // The limit would do, but others hold what it allows: all but the connection of one of two ranks.
  const std::string within = in_process([&]() -> std::string {
    Socket listener = listen_at(loopback());
    const std::uint16_t port = port_of(listener);
    std::vector<std::string> others(1);
    std::string own;
    const ::pid_t process = ::fork();
    if (process == 0) {
      { const Socket closed = std::move(listener); }
      others = meet({option(1, 3, port, milliseconds(2000)), option(2, 3, port, milliseconds(2000))});
      // There is a descriptor for one of them, which hears it; the other finds that nobody is there any more.
      ::_exit(says(others[0], "rank 0 without a file descriptor") != says(others[1], "rank 0 without a file descriptor")
                  ? 0
                  : 1);
    }
    TcpOptions first = option(0, 3, port, milliseconds(20000));
    first.listener = *listener;
    limit(64);
    std::vector<Socket> held;
    for (;;) {
      const int copy = ::dup(0);
      if (copy < 0) break;
      held.emplace_back(copy);
    }
    held.pop_back();  // room for one
    own = meet({first})[0];
    held.clear();
    [[maybe_unused]] const int gone = *std::exchange(listener, Socket(-1));
    int status = 0;
    ::waitpid(process, &status, 0);
    return own +
           (WIFEXITED(status) && WEXITSTATUS(status) == 0 ? " (and the other heard it)" : " (and the other did not)");
  });
  INFO(within);
  CHECK(says(within, "rank 0 without a file descriptor for rank"));
  CHECK(says(within, "ulimit -n"));
  CHECK(says(within, "and the other heard it"));
}

TEST_CASE("the longest deadline is for ever, and not over at once") {
  for (const milliseconds deadline : {milliseconds(std::chrono::hours(24 * 365 * 300)), (milliseconds::max)()}) {
    const std::uint16_t port = free_port();
    CHECK(meet({option(0, 2, port, deadline), option(1, 2, port, deadline)}) == std::vector<std::string>(2));
  }
}

TEST_CASE("a loopback address is one for all hosts, a host's name is not") {
  using regimen::comm::detail::is_loopback_everywhere;
  for (const char* address : {"127.0.0.1", "127.0.1.1", "127.1", "localhost", "LocalHost", "localhost.",
                              "rank0.localhost", "localhost.localdomain"}) {
    INFO(address);
    CHECK(is_loopback_everywhere(address));
  }
  for (const char* address :
       {"10.0.0.1", "0.0.0.0", "nodea", "localhost.example.org", "notlocalhost", "127.example.org", ""}) {
    INFO(address);
    CHECK(!is_loopback_everywhere(address));
  }
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
  ::unsetenv("REGIMEN_SECRET");
  const TcpOptions options = regimen::comm::tcp_options(world, 5, milliseconds(7));
  CHECK((options.rank == 1 && options.size == 4 && options.address == "localhost" && options.port == 29500 &&
         options.fingerprint == 5 && options.deadline == milliseconds(7) && options.listener == -1 &&
         options.secret.empty()));
  ::setenv("REGIMEN_SECRET", secret.c_str(), 1);
  CHECK(regimen::comm::tcp_options(world, 5).secret == secret);
  ::unsetenv("REGIMEN_SECRET");
}
