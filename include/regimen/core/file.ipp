// regimen/core/file.ipp — the bodies of file.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/file.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace regimen::detail {

REGIMEN_INLINE Descriptor::~Descriptor() {
  const int code = errno;  // says why a call failed, also behind the scope
  if (number_ >= 0) ::close(number_);
  errno = code;
}

REGIMEN_INLINE void expect_path(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    throw Error(path, "a path without a NUL character", "one",
                "check the program or the file that the path comes from");
}

REGIMEN_INLINE OpenFile open_file(const std::string& path, const char* expected) {
  expect_path(path);
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not wait for its writer
  struct ::stat about{};
  if (*file < 0 || ::fstat(*file, &about) != 0)
    throw Error(path, "a file that can be read", system_words(errno), "check the path and its permissions");
  if (!S_ISREG(about.st_mode))
    throw Error(path, expected, S_ISDIR(about.st_mode) ? "a directory" : "a pipe or a device",
                "give the path of a file");
  return {path, std::move(file), static_cast<std::size_t>(about.st_size)};
}

REGIMEN_INLINE bool exists(const std::string& path) {
  expect_path(path);
  struct ::stat about{};
  if (::stat(path.c_str(), &about) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw Error(path, "a path that can be looked up", system_words(errno), "check the path and its permissions");
}

REGIMEN_INLINE std::optional<std::string> read_if_there(const std::string& path) {
  return exists(path) ? std::optional(read_to_end(open_file(path))) : std::nullopt;
}

REGIMEN_INLINE std::string system_text(const char* path) {
  try {
    return read_to_end(open_file(path));
  } catch (const Error&) { return {}; }
}

REGIMEN_INLINE std::vector<std::string> names_in(const std::string& directory) {
  expect_path(directory);
  std::vector<std::string> names;
  ::DIR* const entries = ::opendir(directory.empty() ? "." : directory.c_str());
  int code = entries == nullptr ? errno : 0;
  if (entries != nullptr) {
    for (errno = 0; const ::dirent* const entry = ::readdir(entries); errno = 0) names.emplace_back(entry->d_name);
    code = errno;
    ::closedir(entries);
  }
  if (code != 0 && code != ENOENT)
    throw Error(directory.empty() ? "." : directory, "a folder that can be read", system_words(code),
                "check the path and its permissions");
  return names;
}

REGIMEN_INLINE std::vector<std::string> names_to_tidy(const std::string& directory) {
  try {
    return names_in(directory);
  } catch (const Error&) { return {}; }
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
