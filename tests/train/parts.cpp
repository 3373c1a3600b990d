// The files of a state in parts: which are parts of a path, and that a save leaves none of others.
#include <regimen/core/atomic_file.hpp>

#include "temporary.hpp"
#include "train/shard.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace regimen;
using namespace regimen::test;
using train::PartNames;

namespace {

using Train = Trainer<Tied<3>, Batch<2>, Communicator<Threads>, Shard<ZeRO3>>;

std::vector<std::string> files_in(const ::test::Directory& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename().string());
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

TEST_CASE("parts of a save that began later stay") {
  const ::test::Directory folder;
  const std::string path = folder / "state", later = path + ".1-18000000000000000000.part-0-of-2", older = path + ".1-7.part-0-of-2";
  for (const std::string& part : {later, older}) std::ofstream(part) << "a part";
  train_and_save(2, 1, path);
  CHECK(std::filesystem::exists(later));
  CHECK_FALSE(std::filesystem::exists(older));
}
// SPDX-License-Identifier: Apache-2.0
