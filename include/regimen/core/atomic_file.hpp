// regimen/core/atomic_file.hpp — replacing a file so that every reader, and every crash, finds the old one or the new one whole.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>  // Descriptor, system_words

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace regimen::detail {

/// Bytes go to `path.tmp-<process>` in the same directory; commit() syncs them, renames them over `path`, and syncs the
/// directory. Without commit() the destructor removes them and `path` is as it was. Linux and other POSIX systems.
///
/// A process that is killed leaves its temporary behind; the next writer of the same path removes it. Living writers are
/// told from dead ones by a lock on the temporary, which ends with its process.
///
/// failure  every member throws Error with the system's reason (no such directory, permission, no space left); then
///          `path` holds what it held. Only when the final sync of the directory fails may it hold either.
class AtomicFile final {
 public:
  explicit AtomicFile(const std::string& path) : path_(path), temporary_(path + ".tmp-" + std::to_string(::getpid())) {
    remove_stale();
    for (;;) {
      file_ = Descriptor(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
      if (*file_ < 0) throw failure("to create " + temporary_);
      if (::flock(*file_, LOCK_EX | LOCK_NB) != 0) throw failure("to be the only writer of " + temporary_);
      struct ::stat about{};
      if (::fstat(*file_, &about) != 0) throw failure("to look at " + temporary_);
      if (about.st_nlink != 0) break;  // else another writer took it for stale between the two calls
    }
    owned_ = true;
    try {
      if (::ftruncate(*file_, 0) != 0) throw failure("to empty " + temporary_);
    } catch (...) {
      discard();
      throw;
    }
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(*file_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw failure("to write " + std::to_string(bytes.size()) + " bytes");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void commit() {
    if (::fsync(*file_) != 0) throw failure("to sync " + temporary_);
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw failure("to rename " + temporary_);
    owned_ = false;
    const Descriptor directory(::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (*directory < 0 || (::fsync(*directory) != 0 && errno != EINVAL))
      throw failure("to sync the directory", "the new file is in place, but may not survive a loss of power");
  }

  /// Removes the temporary of a writer that was killed; that of a living one stays.
  static void remove_if_stale(const std::string& temporary) {
    const Descriptor file(::open(temporary.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (*file >= 0 && ::flock(*file, LOCK_EX | LOCK_NB) == 0) ::unlink(temporary.c_str());
  }

 private:
  static std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }

  Error failure(const std::string& what, const char* state = "the file that was there before is untouched") const {
    const int code = errno;
    return Error(path_, what, system_words(code), state);
  }

  void discard() noexcept {
    if (owned_) ::unlink(temporary_.c_str());
    owned_ = false;
  }

  /// Removes what writers of the same path left behind when they were killed.
  void remove_stale() const {
    const std::string directory = directory_of(path_);
    const std::size_t slash = path_.rfind('/');
    const std::string prefix = (slash == std::string::npos ? path_ : path_.substr(slash + 1)) + ".tmp-";
    ::DIR* const entries = ::opendir(directory.c_str());
    if (entries == nullptr) return;  // creating the file says why
    while (const ::dirent* const entry = ::readdir(entries)) {
      const std::string_view name = entry->d_name;
      if (name.size() <= prefix.size() || name.substr(0, prefix.size()) != prefix) continue;
      const std::string_view process = name.substr(prefix.size());
      if (!std::all_of(process.begin(), process.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
      remove_if_stale(directory + (directory.back() == '/' ? "" : "/") + entry->d_name);
    }
    ::closedir(entries);
  }

  std::string path_, temporary_;
  Descriptor file_;
  bool owned_ = false;
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
