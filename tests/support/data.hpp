// tests/support/data.hpp — where real data lies, when it is there.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace support {

/// The file `name` in the folder that the environment variable REGIMEN_DATA names; an empty path when it is not there.
inline std::filesystem::path data(const std::string& name) {
  const char* folder = std::getenv("REGIMEN_DATA");
  if (folder == nullptr || *folder == '\0') return {};
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path{};
}

/// The recorded case `name`, from tests/recorded.
inline std::filesystem::path recorded(const std::string& name) {
  return std::filesystem::path(REGIMEN_RECORDED) / name;
}

}  // namespace support

/// Declares `variable` as the path of the real data file `name`, or skips this test case.
#define REGIMEN_REAL_DATA(variable, name)                       \
  const std::filesystem::path variable = ::support::data(name); \
  if (variable.empty()) REGIMEN_SKIP("needs " name " in the folder that REGIMEN_DATA names")
