// Two hosts, each a network of its own, whose names are written down as Debian's installer does: a host calls itself
// 127.0.1.1.
#include <regimen/comm/tcp.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// This process gets a network and mounts of its own. False where the machine does not allow it.
bool enter_own_network() {
  const ::uid_t user = ::getuid();
  const ::gid_t group = ::getgid();
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
    write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}
bool shell(const std::string& command) { return std::system(("(" + command + ") > /dev/null 2>&1").c_str()) == 0; }

/// Ranks first and first + 1 of four, by threads; what went wrong, or nothing.
std::string two_ranks(std::size_t first) {
  std::array<std::string, 2> words;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      regimen::comm::TcpOptions options;
      options.rank = first + i;
      options.size = 4;
      options.address = "nodea";
      options.port = 29900;
      options.deadline = std::chrono::seconds(20);
      try {
        regimen::comm::Tcp ranks(options);
        ranks.barrier();
      } catch (const std::exception& error) { words[i] = error.what(); }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return words[0] + words[1];
}

/// Host a has ranks 0 and 1, and starts host b, which has 2 and 3. What they say; "?" and a reason where this cannot be
/// tried.
std::string both_hosts(const std::string& folder) {
  const std::string local = "127.0.0.1 localhost\n";
  write(folder + "/a", local + "127.0.1.1 nodea\n");
  write(folder + "/b", local + "10.77.0.1 nodea\n127.0.1.1 nodeb\n");
  const auto use_hosts = [&](const char* host) {
    return ::mount((folder + host).c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  };
  if (!enter_own_network()) return "?no network of its own for a process here";
  int to_b[2], to_a[2];
  if (::pipe(to_b) != 0 || ::pipe(to_a) != 0) return "?no pipe";
  char byte = 0;
  const ::pid_t b = ::fork();
  if (b == 0) {
    std::string words = enter_own_network() && use_hosts("/b") ? "" : "?no network of its own for a second process";
    [[maybe_unused]] const auto ready = ::write(to_a[1], "r", 1);
    if (::read(to_b[0], &byte, 1) == 1 && words.empty()) {
      const bool linked = shell("ip addr add 10.77.0.2/24 dev vb && ip link set vb up && ip link set lo up");
      words = linked ? two_ranks(2) : "?no link in the second network";
    }
    [[maybe_unused]] const auto said = ::write(to_a[1], words.data(), words.size());
    ::_exit(0);
  }
  ::close(to_a[1]);
  std::string words;
  if (::read(to_a[0], &byte, 1) != 1 || !use_hosts("/a")) words = "?no mounts of its own for a process here";
  if (words.empty() && !shell("ip link add va type veth peer name vb netns " + std::to_string(b) +
                              " && ip addr add 10.77.0.1/24 dev va && ip link set va up && ip link set lo up"))
    words = "?no link between two networks (ip)";
  if (words.empty() && ::write(to_b[1], "g", 1) == 1) words = two_ranks(0);
  ::close(to_b[1]);
  std::array<char, 4096> theirs;
  for (::ssize_t got = 0; (got = ::read(to_a[0], theirs.data(), theirs.size())) > 0;)
    words.append(theirs.data(), static_cast<std::size_t>(got));
  ::waitpid(b, nullptr, 0);
  return words;
}

}  // namespace

TEST_CASE("ranks on other hosts reach one that calls itself 127.0.1.1", "[machine]") {
  const ::test::Directory folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const ::pid_t a = ::fork();
  if (a == 0) {
    const std::string words = both_hosts(folder.path());
    [[maybe_unused]] const auto said = ::write(ends[1], words.data(), words.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::array<char, 8192> text;
  std::string words;
  for (::ssize_t got = 0; (got = ::read(ends[0], text.data(), text.size())) > 0;)
    words.append(text.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(a, &status, 0);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  if (words.starts_with('?')) REGIMEN_SKIP(words.c_str() + 1);
  INFO(words);
  CHECK(words.empty());
}
