// tests/temporary.hpp — files for a test, gone after it, and what the refusal of one must say.
#pragma once

#include <regimen/comm/detail/child.hpp>
#include <regimen/core/error.hpp>

#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace test {

using Bytes = std::vector<std::uint8_t>;

using regimen::comm::detail::reap;

/// A directory of its own, removed at the end of the scope.
class Directory {
 public:
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "regimen-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::size_t files() const {
    const auto all = std::filesystem::directory_iterator(path_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::string path_;
};

inline void put(const std::string& path, std::span<const std::uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path);
}

inline void put(const std::string& path, std::string_view text) {
  put(path, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

inline Bytes get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The text of the Error that `action` throws; empty when it throws none. Any other exception fails the test.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const regimen::Error& error) { return error.what(); }
  return {};
}

inline bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Checks that the action throws an Error that says these words.
template <class Action>
void refuses(const Action& action, const char* words) {
  const std::string error = error_of(action);
  INFO(error);
  CHECK(says(error, words));
}

/// The directory with real data, or empty, which the test then says.
inline std::string real_data(const std::string& file) {
  const char* directory = std::getenv("REGIMEN_DATA");
  if (directory != nullptr && std::filesystem::exists(std::string(directory) + "/" + file))
    return std::string(directory) + "/";
  WARN("skipped: REGIMEN_DATA names no directory with " << file);
  return {};
}

}  // namespace test
// SPDX-License-Identifier: Apache-2.0
