// tests/train/planted_run.hpp — what a run with a planted defect comes to: each in a process of its own, as a kernel
// that is led astray ends it, as it would lose a GPU.
#pragma once

#include "temporary.hpp"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace regimen::test {

/// spoilt   how often the defect was met
struct Found {
  std::vector<double> numbers;
  std::string error;
  std::size_t spoilt = 0;
  bool operator==(const Found&) const = default;
  bool same_as(const Found& other) const { return error == other.error && numbers == other.numbers; }
};

/// Of a process that ended by itself: by a fault, or by ASan, which sees it before an engine can say anything.
inline constexpr const char* lost_device = "a lost device";

/// body(found) in a process of its own, where `spoilt` counts.
template <class Body>
Found in_a_process(auto& spoilt, const Body& body) {
  const ::test::Directory folder;
  const std::string numbers = folder / "numbers", words = folder / "words";
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(number, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    spoilt = 0;
    Found found;
    found.error = ::test::error_of([&] { body(found); });
    found.spoilt = spoilt;
    std::ofstream(words) << found.spoilt << ' ' << found.error;
    std::ofstream(numbers).write(reinterpret_cast<const char*>(found.numbers.data()),
                                 static_cast<std::streamsize>(found.numbers.size() * sizeof(double)));
    _exit(0);
  }
  int status = 0;
  if (!::test::reap(child, &status) || status != 0) return {.numbers = {}, .error = lost_device, .spoilt = 1};
  Found found;
  std::ifstream file(words);
  file >> found.spoilt;
  file.get();
  found.error.assign(std::istreambuf_iterator<char>(file), {});
  found.numbers.resize(std::filesystem::file_size(numbers) / sizeof(double));
  std::ifstream(numbers).read(reinterpret_cast<char*>(found.numbers.data()),
                              static_cast<std::streamsize>(found.numbers.size() * sizeof(double)));
  return found;
}

/// In how many of the orders 0 ... seeds - 1 run(order) with the defect differs from run(0) without it; and the errors
/// of all orders. plant(true) plants it, plant(false) takes it out again.
template <class Run, class Plant>
std::size_t orders_that_find(std::uint64_t seeds, const Run& run, const Plant& plant,
                             std::vector<std::string>* errors = nullptr) {
  const Found sound = run(0);
  CHECK(sound.error == "");
  CHECK(sound.spoilt == 0);
  plant(true);
  std::size_t found = 0, spoilt = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Found other = run(seed);
    spoilt += other.spoilt;
    found += !other.same_as(sound);
    if (errors != nullptr) errors->push_back(other.error);
  }
  plant(false);
  CHECK(spoilt > 0);
  return found;
}

/// Every order ends with these words, or by a lost device; not all of them by the latter.
inline void all_say(const std::vector<std::string>& errors, const char* words) {
  std::size_t lost = 0;
  for (const std::string& error : errors) {
    INFO(error);
    CHECK((error == lost_device || ::test::says(error, words)));
    lost += error == lost_device;
  }
  CHECK(lost < errors.size());
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
