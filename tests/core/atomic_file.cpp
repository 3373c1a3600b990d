// Atomic files: after every failure and every kill the old file or the new one is there, whole.
#include <regimen/core/atomic_file.hpp>

#include "../temporary.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <csignal>

using regimen::detail::AtomicFile;
using test::Bytes;
using test::error_of;
using test::says;

namespace {

void write(const std::string& path, const Bytes& bytes) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

}  // namespace

TEST_CASE("an atomic file replaces what was there, and leaves nothing beside it") {
  const test::Directory directory;
  const std::string path = directory / "state";
  write(path, {1, 2, 3});
  REQUIRE(test::get(path) == Bytes{1, 2, 3});
  write(path, {4});
  REQUIRE(test::get(path) == Bytes{4});
  REQUIRE(directory.files() == 1);
}

TEST_CASE("without commit nothing has happened") {
  const test::Directory directory;
  const std::string path = directory / "state";
  write(path, {1});
  {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(path)));
    REQUIRE(directory.files() == 2);
  }
  REQUIRE(test::get(path) == Bytes{1});
  REQUIRE(directory.files() == 1);
}

TEST_CASE("a file that cannot be written is refused with the system's reason") {
  const test::Directory directory;
  REQUIRE(says(error_of([&] { write(directory / "none/state", {1}); }), "none/state: expected to create "));
  REQUIRE(says(error_of([&] { write(directory / "none/state", {1}); }), "found No such file or directory"));
  REQUIRE(::mkdir((directory / "taken").c_str(), 0700) == 0);
  REQUIRE(says(error_of([&] { write(directory / "taken", {1}); }), "expected to rename "));
  REQUIRE(directory.files() == 1);
}

TEST_CASE("a full disk leaves the old file and no temporary") {
  const test::Directory directory;
  const std::string path = directory / "state";
  write(path, {1});
  const ::pid_t child = ::fork();  // a limit on the size of files stands for a full disk
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const std::string error = error_of([&] { write(path, Bytes(10'000, 7)); });
    ::_exit(says(error, path + ": expected to write") && says(error, "File too large") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::test::reap(child, &status));
  REQUIRE(status == 0);
  REQUIRE(test::get(path) == Bytes{1});
  REQUIRE(directory.files() == 1);
}

TEST_CASE("two writers of one path in one process: the second is refused") {
  const test::Directory directory;
  AtomicFile first(directory / "state");
  REQUIRE(says(error_of([&] { AtomicFile second(directory / "state"); }), "the only writer"));
  first.write(std::as_bytes(std::span("a", 1)));
  first.commit();
  REQUIRE(test::get(directory / "state") == Bytes{'a'});
}

TEST_CASE("temporaries of killed writers go, those of living ones and other files stay") {
  const test::Directory directory;
  const std::string path = directory / "state";
  test::put(path + ".tmp-999999999", std::string_view("stale"));
  test::put(path + ".tmp-", std::string_view("not ours"));
  test::put(path + ".tmp-12a", std::string_view("not ours"));
  test::put(directory / "statement.tmp-1", std::string_view("not ours"));
  const std::string living = path + ".tmp-999999998";
  test::put(living, std::string_view("at work"));
  const regimen::detail::Descriptor lock(::open(living.c_str(), O_RDWR));
  REQUIRE(::flock(*lock, LOCK_EX) == 0);
  write(path, {1});
  REQUIRE(directory.files() == 5);
  REQUIRE(test::get(living).size() == 7);
  REQUIRE(test::get(path + ".tmp-999999999").empty());
}

TEST_CASE("killed at any moment, a writer leaves a whole file") {
  const test::Directory directory;
  const std::string path = directory / "state";
  write(path, Bytes(100'000, 0));
  for (int trial = 0; trial < 60; ++trial) {
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::uint8_t value = 0;; ++value) write(path, Bytes(100'000, value));
    }
    ::usleep(static_cast<::useconds_t>(trial * 97 % 4000));
    ::kill(child, SIGKILL);
    REQUIRE(::test::reap(child));
    const Bytes found = test::get(path);
    REQUIRE(found == Bytes(100'000, found.at(0)));
    REQUIRE(directory.files() <= 2);  // the writer before has cleared what an earlier one left
  }
  write(path, {1});
  REQUIRE(directory.files() == 1);
}
