// Atomic files: after every failure and every kill the old file or the new one is there, whole.
#include <regimen/core/atomic_file.hpp>

#include "../temporary.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace {
bool no_locks = false;
/// What the file system was asked for since the last clear(), in order: "write NAME", "sync NAME", "rename NAME NAME".
std::vector<std::string> requests;
/// A sync of this name fails.
std::string fails_to_sync = "none";

std::string last_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string name_of(int file) {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return ::readlink(link.c_str(), path, sizeof path - 1) > 0 ? last_of(path) : std::string();
}
}  // namespace
/// In place of the system's: they note what they were asked for.
extern "C" int fsync(int file) {
  requests.push_back("sync " + name_of(file));
  if (name_of(file) == fails_to_sync) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  requests.push_back("rename " + last_of(from) + " " + last_of(to));
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" ::ssize_t write(int file, const void* bytes, ::size_t count) {
  requests.push_back("write " + name_of(file));
  return ::syscall(SYS_write, file, bytes, count);
}
/// In place of the system's: file systems without locks, as Lustre is without -o flock.
extern "C" int flock(int file, int operation) noexcept {
  if (!no_locks) return static_cast<int>(::syscall(SYS_flock, file, operation));
  errno = ENOSYS;
  return -1;
}

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

/// As a killed writer leaves it.
void put_temporary(const std::string& path) {
  test::put(path, std::string_view("stale"));
  REQUIRE(::chmod(path.c_str(), 01600) == 0);
}

::mode_t mode_of(const std::string& path) {
  struct ::stat about{};
  REQUIRE(::lstat(path.c_str(), &about) == 0);
  return about.st_mode & 07777;
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

TEST_CASE("the bytes are on the disk before the name is, and the name after it") {
  const test::Directory directory;
  const std::string path = directory / "state", temporary = "state.tmp-" + std::to_string(::getpid()),
                    folder = last_of(directory.path());
  const auto saves = [&] {
    requests.clear();
    write(path, {1, 2, 3});
    const std::vector<std::string> found = requests;  // a test's own output is written, too
    return found;
  };
  const std::vector<std::string> expected{"write " + temporary, "sync " + temporary, "rename " + temporary + " state",
                                          "sync " + folder};
  CHECK(saves() == expected);
  CHECK(saves() == expected);  // in the place of a file

  // No name for what is not on the disk; and who cannot sync the name is told that it is there.
  const auto error_of_sync = [&](const std::string& name, const Bytes& bytes) {
    fails_to_sync = name;
    const std::string error = error_of([&] { write(path, bytes); });
    fails_to_sync = "none";
    return error;
  };
  CHECK(says(error_of_sync(temporary, {4}), "found Input/output error; the file that was there before is untouched"));
  CHECK(test::get(path) == Bytes{1, 2, 3});
  CHECK(directory.files() == 1);
  CHECK(says(error_of_sync(folder, {5}), "may not survive a loss of power"));
  CHECK(test::get(path) == Bytes{5});
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
  REQUIRE(says(error_of([&] { write(directory / "none/state", {1}); }),
               "found No such file or directory; make the folder "));
  REQUIRE(!says(error_of([&] { write(directory / "none/state", {1}); }), "was there before"));
  REQUIRE(::symlink((directory / "gone/state").c_str(), (directory / "link").c_str()) == 0);
  REQUIRE(says(error_of([&] { write(directory / "link", {1}); }), "; make the folder " + (directory / "gone/")));
  REQUIRE(::unlink((directory / "link").c_str()) == 0);
  REQUIRE(::mkdir((directory / "taken").c_str(), 0700) == 0);
  REQUIRE(says(error_of([&] { write(directory / "taken", {1}); }),
               "taken: expected a file, or a name that is free, found a folder"));
  REQUIRE(says(error_of([&] { write(directory / "taken/", {1}); }), "found a folder"));
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  REQUIRE(says(error_of([&] { write(directory / "pipe", {1}); }), "found a pipe or a device"));
  // The longest name has no room for the temporary's ending; a longer one is refused.
  for (const std::size_t length : {230u, 247u, 255u}) {
    const std::string path = directory / std::string(length, 'x');
    write(path, {1});
    REQUIRE(test::get(path) == test::Bytes{1});
    REQUIRE(::unlink(path.c_str()) == 0);
  }
  REQUIRE(
      says(error_of([&] { write(directory / std::string(256, 'x'), {1}); }), "expected a name of at most 255 bytes"));
  REQUIRE(says(error_of([&] { write(directory / std::string("a\0b", 3), {1}); }), "a path without a NUL"));
  REQUIRE(says(error_of([] { write("", {1}); }), "expected a name, found an empty one"));
  REQUIRE(directory.files() == 2);
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
  for (const char* end : {".tmp-999999999", ".tmp-999999999-1"}) put_temporary(path + end);
  // A user's files, whatever they are called: they have no mark, or a name that no writer gives.
  const std::string own = ".tmp-" + std::to_string(::getpid());
  for (const char* end : {".tmp-2024", ".tmp-2024-12", own.c_str()}) test::put(path + end, std::string_view("mine"));
  for (const char* end : {".tmp-", ".tmp-12a", ".tmp-12-", ".tmp--12", ".tmp-1-2-3"}) put_temporary(path + end);
  put_temporary(directory / "statement.tmp-1");
  const std::string living = path + ".tmp-999999998";
  put_temporary(living);
  const regimen::detail::Descriptor lock(::open(living.c_str(), O_RDWR));
  REQUIRE(::flock(*lock, LOCK_EX) == 0);
  write(path, {1});
  REQUIRE(test::get(path) == Bytes{1});
  REQUIRE(directory.files() == 1 + 3 + 5 + 1 + 1);
  REQUIRE(test::get(living).size() == 5);
  for (const char* end : {".tmp-2024", ".tmp-2024-12", own.c_str()})
    REQUIRE(test::get(path + end) == Bytes{'m', 'i', 'n', 'e'});
}

TEST_CASE("where there are no locks files are written, and temporaries stay, since nobody knows whose they are") {
  const test::Directory directory;
  const std::string path = directory / "state", own = path + ".tmp-" + std::to_string(::getpid());
  put_temporary(path + ".tmp-999999999");
  put_temporary(own);
  no_locks = true;
  const std::string error = error_of([&] {
    write(path, {1});
    AtomicFile another(path);
    write(path, {2});
  });
  no_locks = false;
  REQUIRE(error.empty());
  REQUIRE(test::get(path) == Bytes{2});
  REQUIRE(directory.files() == 3);
  write(path, {3});
  REQUIRE(directory.files() == 1);
}

TEST_CASE("a symbolic link stays one, and the file behind it is replaced") {
  const test::Directory directory;
  const auto link = [&](const char* to, const std::string& at) {
    REQUIRE(::symlink(to, (directory / at).c_str()) == 0);
  };
  REQUIRE(::mkdir((directory / "runs").c_str(), 0700) == 0);
  write(directory / "runs/first", {1});
  link("runs/first", "latest");
  link("../latest", "runs/alias");
  link("runs/second", "next");  // leads to nothing yet
  link("circle", "circle");
  write(directory / "latest", {2});
  REQUIRE(test::get(directory / "runs/first") == Bytes{2});
  write(directory / "runs/alias", {3});
  REQUIRE(test::get(directory / "runs/first") == Bytes{3});
  write(directory / "next", {4});
  REQUIRE(test::get(directory / "runs/second") == Bytes{4});
  for (const char* name : {"latest", "runs/alias", "next"}) REQUIRE(std::filesystem::is_symlink(directory / name));
  REQUIRE(says(error_of([&] { write(directory / "circle", {5}); }),
               "circle: expected a file behind at most 40 symbolic links"));
  REQUIRE(directory.files() == 4);
}

TEST_CASE("a file that is replaced keeps its mode, a new one has what the process gives") {
  const test::Directory directory;
  const std::string path = directory / "state";
  const ::mode_t before = ::umask(027);
  write(path, {1});
  const ::mode_t first = mode_of(path);
  ::mode_t later[3], parts = 0;
  for (const ::mode_t mode : {0600u, 0664u, 0444u}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    AtomicFile file(path);
    const ::mode_t meanwhile = mode_of(path + ".tmp-" + std::to_string(::getpid()));
    file.commit();
    later[mode == 0600 ? 0 : mode == 0664 ? 1 : 2] = mode_of(path);
    REQUIRE((meanwhile & ~mode & 0777) == 0);  // nobody reads more of it while it is written
  }
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  AtomicFile part(directory / "part", path);
  part.commit();
  parts = mode_of(directory / "part");
  ::umask(before);
  REQUIRE(first == 0640);
  REQUIRE(later[0] == 0600);
  REQUIRE(later[1] == 0664);
  REQUIRE(later[2] == 0444);
  REQUIRE(parts == 0600);
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
