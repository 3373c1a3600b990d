// The files of a state in parts: which are parts of a path, and that a save leaves none of others.
#include <regimen/core/atomic_file.hpp>

#include "temporary.hpp"
#include "train/shard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
/// Files with this in their name find the disk full.
std::atomic<const char*> no_room_for{nullptr};
}  // namespace
namespace {
/// What the file system was asked for, in order, while a test listens: names are without their folder.
struct Request {
  char kind;  // w(rite), s(ync), r(ename)
  std::string name, to{};
};
std::mutex lock;
std::atomic<bool> listens{false};
std::vector<Request> requests;
/// A file that gets a name which ends so is gone at once, as if another run had removed it.
std::atomic<const char*> vanishes{nullptr};

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string file_name_of(int file) {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return ::readlink(link.c_str(), path, sizeof path - 1) > 0 ? file_name_of(std::string(path)) : std::string();
}
void note(const Request& request) {
  const std::lock_guard<std::mutex> guard(lock);
  if (listens) requests.push_back(request);
}
}  // namespace
extern "C" int fsync(int file) {
  const std::string name = file_name_of(file);
  const int result = static_cast<int>(::syscall(SYS_fsync, file));
  note({'s', name});
  return result;
}
extern "C" int rename(const char* from, const char* to) noexcept {
  note({'r', file_name_of(std::string(from)), file_name_of(std::string(to))});
  const int result = static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  if (const char* const end = vanishes; end != nullptr && std::string(to).ends_with(end)) ::unlink(to);
  return result;
}
/// In place of the system's.
extern "C" ::ssize_t write(int file, const void* bytes, ::size_t count) {
  if (const char* const name = no_room_for) {
    char path[4096] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    if (::readlink(link.c_str(), path, sizeof path - 1) > 0 && std::string(path).find(name) != std::string::npos) {
      errno = ENOSPC;
      return -1;
    }
  }
  if (listens) note({'w', file_name_of(file)});
  return ::syscall(SYS_write, file, bytes, count);
}

using namespace regimen;
using namespace regimen::test;
using saves::PartNames;

namespace {

using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>;

std::vector<std::string> files_in(const ::test::Directory& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}
void train_and_save(std::size_t ranks, std::uint64_t steps, const std::string& path, bool whole = false) {
  static const Fake data({.samples = 43, .classes = 11, .seed = 3});
  launch(ranks, [&](comm::Threads& communicator) {
    Train trainer(communicator);
    if (std::filesystem::exists(path)) trainer.load(path);
    trainer.fit(data, {.steps = steps, .progress = false});
    if (whole) trainer.save_whole(path);
    else trainer.save(path);
  });
}

// What looks nearly like a part of "state", and is none of it.
const std::vector<std::string> strangers{"state.bin",
                                         "state.5-7.part-0-of-2.bak",
                                         "state.5-7.part-0-of-",
                                         "state.5-7.part-0",
                                         "state.5-.part-0-of-2",
                                         "state.-7.part-0-of-2",
                                         "state.5x7.part-0-of-2",
                                         "state.5-7.part-x-of-2",
                                         "state.5-7.part--1-of-2",
                                         "state.5-7.part-0-of-2.tmp-",
                                         "state.5-7.part-0-of-2.tmp-12a",
                                         "state.best.5-7.part-0-of-2",
                                         "state2.5-7.part-0-of-2",
                                         "my-state.5-7.part-0-of-2",
                                         ".5-7.part-0-of-2",
                                         "state.5-7"};

}  // namespace

TEST_CASE("a part is told from its path by its whole name") {
  CHECK(PartNames::find(PartNames::file("state", "12-345", 3, 10), "state").save == "12-345");
  CHECK_FALSE(PartNames::find("state.12-345.part-3-of-10", "state").is_temporary);
  CHECK(PartNames::find("state.12-345.part-3-of-10.tmp-77", "state").save == "12-345");
  CHECK(PartNames::find("state.12-345.part-3-of-10.tmp-77", "state").is_temporary);
  CHECK(PartNames::find("state.5-1.12-345.part-3-of-10", "state.5-1").save == "12-345");
  for (const std::string& name : strangers) {
    INFO(name);
    CHECK(PartNames::find(name, "state").save.empty());
  }
}

TEST_CASE("a save removes the parts that killed ranks left behind, and nothing else") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  for (const std::string& name : strangers) ::test::put(folder / name, std::string_view("mine"));
  const std::vector<std::string> others = files_in(folder);
  const auto orphans = [&] {  // a rank was killed while it wrote its part, another before the index was in place
    ::test::put(folder / "state.4-12345.part-0-of-2", std::string_view("left"));
    ::test::put(folder / "state.4-12345.part-1-of-2.tmp-999999999", std::string_view("half"));
    REQUIRE(::chmod((folder / "state.4-12345.part-1-of-2.tmp-999999999").c_str(), 01600) == 0);  // as a writer marks it
  };
  orphans();
  train_and_save(3, 2, path);
  std::vector<std::string> parts = files_in(folder);
  CHECK(parts.size() == others.size() + 4);

  // Rank 0 was killed when the index was in place and the parts before it were not yet gone.
  std::vector<std::pair<std::string, ::test::Bytes>> older;
  for (const std::string& name : parts)
    if (PartNames::find(name, "state").save.size() > 0) older.emplace_back(name, ::test::get(folder / name));
  CHECK(older.size() == 3);
  train_and_save(2, 4, path);
  for (const auto& [name, bytes] : older) {
    CHECK_FALSE(std::filesystem::exists(folder / name));
    ::test::put(folder / name, bytes);
  }
  train_and_save(2, 6, path);
  CHECK(files_in(folder).size() == others.size() + 3);
  for (const auto& [name, bytes] : older) CHECK_FALSE(std::filesystem::exists(folder / name));

  {  // somebody still writes it
    detail::AtomicFile writer(folder / "state.4-12345.part-1-of-2");
    writer.write(std::as_bytes(std::span("half", 4)));
    train_and_save(2, 8, path);
    CHECK(files_in(folder).size() == others.size() + 4);
  }
  // One file in the place of an index: no part is of use any more.
  orphans();
  train_and_save(2, 10, path, true);
  CHECK(files_in(folder).size() == others.size() + 1);
  train_and_save(2, 12, path);
  CHECK(files_in(folder).size() == others.size() + 3);
  orphans();
  train_and_save(1, 14, path);
  CHECK(files_in(folder).size() == others.size() + 1);
  for (const std::string& name : others) CHECK(::test::get(folder / name) == ::test::Bytes{'m', 'i', 'n', 'e'});
}

TEST_CASE("ranks that find no room to save leave nothing behind, and the older state") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  train_and_save(3, 2, path);
  const std::vector<std::string> older = files_in(folder);
  REQUIRE(older.size() == 4);
  const auto fails = [&](const char* where, bool in_background) {
    INFO(where << (in_background ? ", in the background" : ""));
    no_room_for = where;
    const std::string error = ::test::error_of([&] {
      static const Fake data({.samples = 43, .classes = 11, .seed = 3});
      launch(3, [&](comm::Threads& communicator) {
        Train trainer(communicator);
        trainer.load(path);
        CHECK(trainer.steps_done() == 2);
        trainer.fit(data, {.steps = 4, .progress = false});
        if (in_background) trainer.save_in_background(path, std::chrono::seconds(60));
        else trainer.save(path);
        trainer.finish_saving();
      });
    });
    no_room_for = nullptr;
    CHECK(::test::says(error, "No space left on device"));
    return files_in(folder);
  };
  for (const char* where : {".part-0-of-3", ".part-1-of-3", ".part-2-of-3", "/state.tmp-"})
    CHECK(fails(where, false) == older);
  CHECK(fails("/state.tmp-", true) == older);
  // Each rank writes in the background by itself: parts that came after rank 0 had given up go with the next attempt,
  // before it needs room.
  for (const char* where : {".part-1-of-3", ".part-2-of-3", ".part-0-of-3"})
    for (int attempt = 0; attempt < 3; ++attempt) CHECK(fails(where, true).size() <= older.size() + 2);
  CHECK(fails(".part-1-of-3", false) == older);
  train_and_save(3, 4, path);
  CHECK(files_in(folder).size() == 4);
}

TEST_CASE("parts are found behind a symbolic link to their index, and have its mode") {
  const ::test::Directory folder;
  std::filesystem::create_directory(folder / "disk");
  std::filesystem::create_symlink("disk/real", folder / "state");
  train_and_save(2, 2, folder / "state");
  CHECK(std::filesystem::is_symlink(folder / "state"));
  CHECK(folder.files() == 2);
  REQUIRE(::chmod((folder / "disk/real").c_str(), 0600) == 0);
  train_and_save(2, 4, folder / "state");  // which loads it
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "disk")) {
    struct ::stat about{};
    REQUIRE(::stat(entry.path().c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0600);
    ++files;
  }
  CHECK(files == 3);
  CHECK(saves::SavedState(folder / "disk/real").metadata().at("regimen.step") == "4");
  train_and_save(2, 6, folder / "state", true);
  CHECK(std::filesystem::is_symlink(folder / "state"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "disk"), {}) == 1);
}

namespace {
/// The last request of a kind before request `end`; none: ~0.
std::size_t last_before(std::size_t end, char kind, const std::string& name) {
  for (std::size_t i = end; i-- > 0;)
    if (requests[i].kind == kind && requests[i].name == name) return i;
  return ~std::size_t{0};
}
/// Every file is synced after its last byte and before it gets its name, and its folder after that; the index gets its name
/// when all parts have theirs on the disk.
///   together   no part gets a name before the bytes of all are on the disk
void is_durable(const std::string& folder, std::size_t parts, bool together) {
  std::size_t named = 0, first_name = ~std::size_t{0}, last_sync = 0, last_name = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind != 'r') continue;
    INFO(requests[i].to);
    const std::size_t written = last_before(requests.size(), 'w', requests[i].name);
    REQUIRE(written != ~std::size_t{0});
    std::size_t synced = written;  // for the first time with all bytes
    while (synced < i && (requests[synced].kind != 's' || requests[synced].name != requests[i].name)) ++synced;
    CHECK(synced < i);
    const std::size_t folder_synced = last_before(requests.size(), 's', folder);
    REQUIRE(folder_synced != ~std::size_t{0});
    CHECK(folder_synced > i);
    if (requests[i].to != "state") {
      ++named;
      first_name = std::min(first_name, i);
      last_sync = std::max(last_sync, synced);
      last_name = i;
      continue;
    }
    CHECK(named == parts);
    if (parts > 0) CHECK(last_before(i, 's', folder) > last_name);
    if (parts > 0) CHECK(last_before(i, 's', folder) != ~std::size_t{0});
  }
  if (together) CHECK(last_sync < first_name);
  CHECK(named == parts);
}
}  // namespace

TEST_CASE("bytes are on the disk before a name is, and the names of parts before the index") {
  const ::test::Directory folder;
  const std::string path = folder / "state", name = file_name_of(std::string(folder.path()));
  const Fake data({.samples = 43, .classes = 11, .seed = 3});
  const auto saves = [&](std::size_t ranks, std::uint64_t steps, bool in_background) {
    INFO(ranks << " ranks" << (in_background ? ", in the background" : ""));
    launch(ranks, [&](comm::Threads& communicator) {
      Train trainer(communicator);
      trainer.fit(data, {.steps = steps, .progress = false});
      if (communicator.rank() == 0) {
        const std::lock_guard<std::mutex> guard(lock);
        requests.clear();
        listens = true;
      }
      trainer.on_all_ranks(true);
      if (in_background) trainer.save_in_background(path);
      else trainer.save(path);
      trainer.finish_saving();
    });
    listens = false;
    is_durable(name, ranks == 1 ? 0 : ranks, !in_background);
  };
  saves(1, 1, false);
  saves(3, 2, false);
  saves(3, 3, true);

  // A state that moves: the index leaves before its parts do, on the disk, too.
  std::filesystem::create_directory(folder / "older");
  requests.clear();
  listens = true;
  saves::SavedState::move(path, folder / "older");
  listens = false;
  REQUIRE(requests.size() == 7);
  CHECK((requests[0].kind == 'r' && requests[0].name == "state"));
  CHECK((requests[1].kind == 's' && requests[1].name == name));
  for (std::size_t i = 2; i < 5; ++i) CHECK(requests[i].kind == 'r');
  CHECK((requests[5].kind == 's' && requests[5].name == "older"));
  CHECK((requests[6].kind == 's' && requests[6].name == name));
  CHECK(saves::SavedState(folder / "older/state").metadata().at("regimen.step") == "3");
}

TEST_CASE("a part that is gone before the index is in place leaves the older state") {
  const ::test::Directory folder;
  const std::string path = folder / "state";
  train_and_save(3, 2, path);
  const std::vector<std::string> older = files_in(folder);
  for (const char* part : {".part-0-of-3", ".part-1-of-3", ".part-2-of-3"}) {
    INFO(part);
    vanishes = part;
    const std::string error = ::test::error_of([&] { train_and_save(3, 4, path); });
    vanishes = nullptr;
    CHECK(::test::says(error, part));
    CHECK(::test::says(error, "the older state is in place"));
    CHECK(files_in(folder) == older);
    CHECK(saves::SavedState(path).metadata().at("regimen.step") == "2");
  }
  train_and_save(3, 4, path);
  CHECK(saves::SavedState(path).metadata().at("regimen.step") == "4");
}

TEST_CASE("a part of another save under the right name is refused") {
  const ::test::Directory folder, other;
  train_and_save(2, 2, folder / "state");
  train_and_save(2, 3, other / "state");
  const auto part_in = [](const ::test::Directory& of, const std::string& end) {
    for (const std::string& name : files_in(of))
      if (name.ends_with(end)) return of / name;
    throw std::runtime_error("no part " + end);
  };
  for (const char* end : {".part-0-of-2", ".part-1-of-2"}) {
    INFO(end);
    const ::test::Bytes own = ::test::get(part_in(folder, end));
    ::test::put(part_in(folder, end), ::test::get(part_in(other, end)));
    const std::string error = ::test::error_of([&] { saves::SavedState{folder / "state"}; });
    CHECK(::test::says(error, end));
    CHECK(::test::says(error, "copy an index and its parts together"));
    ::test::put(part_in(folder, end), own);
    CHECK(saves::SavedState(folder / "state").metadata().at("regimen.step") == "2");
  }
}

TEST_CASE("parts of a save that began later stay") {
  const ::test::Directory folder;
  const std::string path = folder / "state", later = path + ".1-18000000000000000000.part-0-of-2",
                    older = path + ".1-7.part-0-of-2";
  for (const std::string& part : {later, older}) std::ofstream(part) << "a part";
  train_and_save(2, 1, path);
  CHECK(std::filesystem::exists(later));
  CHECK_FALSE(std::filesystem::exists(older));
}
// SPDX-License-Identifier: Apache-2.0
