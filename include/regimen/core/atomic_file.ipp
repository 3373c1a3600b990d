// regimen/core/atomic_file.ipp — the bodies of atomic_file.hpp.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace regimen::detail {

REGIMEN_INLINE std::string behind_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < 40; ++links) {
    std::array<char, 4096> text{};
    const ::ssize_t length = ::readlink(at.c_str(), text.data(), text.size());
    if (length < 0) return at;
    const std::string to(text.data(), static_cast<std::size_t>(length));
    at = to.starts_with('/') ? to : directory_of(at) + to;
  }
  throw Error(path, "a file behind at most 40 symbolic links", "more links, or a cycle");
}

REGIMEN_INLINE AtomicFile::AtomicFile(const std::string& path, const std::string& mode_of)
    : path_(path), target_(behind_links(path)) {
  struct ::stat there{};
  if (path.empty()) throw Error("a file", "a name", "an empty one");
  expect_name(path);
  if (::stat(target_.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    throw Error(path_, "a file, or a name that is free", S_ISDIR(there.st_mode) ? "a folder" : "a pipe or a device",
                "give the path of a file");
  remove_stale();
  replaces_ = ::stat(target_.c_str(), &there) == 0;
  const bool has_model = ::stat((mode_of.empty() ? target_ : mode_of).c_str(), &there) == 0;
  create(has_model ? 0600 : 0666);
  owned_ = true;
  if (has_model) {
    mode_ = there.st_mode & 0777;
    struct ::stat about{};
    const bool same = ::fstat(*file_, &about) == 0 && about.st_gid == there.st_gid && about.st_uid == there.st_uid;
    if (!same && ::fchown(*file_, there.st_uid, there.st_gid) != 0 && ::fchown(*file_, ::uid_t(-1), there.st_gid) != 0)
      mode_ = (mode_ & ~::mode_t{070}) | (mode_ & 07) << 3;  // another group gets no more than others do
    set_mode(mode_ | mark);
  } else if (struct ::stat about{}; ::fstat(*file_, &about) == 0) {
    mode_ = about.st_mode & 0777;  // as the process's mask leaves it
  }
}

REGIMEN_INLINE void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(*file_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw failure("to write " + std::to_string(bytes.size()) + " bytes");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

REGIMEN_INLINE void AtomicFile::write_again(std::size_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::pwrite(*file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw failure("to write " + std::to_string(bytes.size()) + " bytes");
    offset += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

REGIMEN_INLINE void AtomicFile::sync() {
  if (::fsync(*file_) != 0) throw failure("to sync " + temporary_);
}

REGIMEN_INLINE void AtomicFile::commit() {
  sync();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) throw failure("to rename " + temporary_);
  owned_ = false;
  set_mode(mode_);  // a kill just before leaves the mark, which harms nothing and goes with the next save
  if (!sync_directory_of(target_))
    throw failure("to sync the directory", "the new file is in place, but may not survive a loss of power");
}

REGIMEN_INLINE bool AtomicFile::sync_directory_of(const std::string& path) {
  const std::string name = directory_of(path);
  const Descriptor directory(::open(name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return *directory >= 0 && (::fsync(*directory) == 0 || errno == EINVAL);
}

REGIMEN_INLINE void AtomicFile::commit_as(const std::string& path) {
  path_ = target_ = path;
  commit();
}

REGIMEN_INLINE bool AtomicFile::ends_temporary(std::string_view text) {
  constexpr std::string_view begin = ".tmp-";
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  const std::size_t dash = text.find('-');
  return is_number(text.substr(0, dash)) && (dash == std::string_view::npos || is_number(text.substr(dash + 1)));
}

REGIMEN_INLINE void AtomicFile::remove_if_stale(const std::string& temporary) {
  const Descriptor file(::open(temporary.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (is_marked(file) && ::flock(*file, LOCK_EX | LOCK_NB) == 0) ::unlink(temporary.c_str());
}

REGIMEN_INLINE void AtomicFile::expect_name(const std::string& path) {
  expect_path(path);
  const std::size_t length = name_of_file(path).size();
  if (length > most_of_name || path.size() > most_of_path)
    throw Error(path,
                "a name of at most " + std::to_string(most_of_name) + " bytes, in a path of at most " +
                    std::to_string(most_of_path),
                std::to_string(length) + " in " + std::to_string(path.size()), "give a shorter name");
}

REGIMEN_INLINE bool AtomicFile::is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

REGIMEN_INLINE bool AtomicFile::is_marked(const Descriptor& file) {
  struct ::stat about{};
  return *file >= 0 && ::fstat(*file, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & mark) != 0;
}

REGIMEN_INLINE void AtomicFile::create(::mode_t mode) {
  const std::string first = directory_of(target_) + stem() + ".tmp-" + std::to_string(::getpid());
  for (int number = 0; number < 1000; ++number) {
    temporary_ = number == 0 ? first : first + "-" + std::to_string(number);
    file_ = Descriptor(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode | mark));
    if (*file_ < 0 && errno != EEXIST) throw failure("to create " + temporary_);
    if (*file_ < 0) {
      const Descriptor other(::open(temporary_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (is_marked(other) && ::flock(*other, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw failure("to be the only writer of " + temporary_);
      continue;  // the name belongs to somebody else
    }
    if (::flock(*file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;  // another writer takes it for stale
    struct ::stat about{};
    if (::fstat(*file_, &about) != 0) throw failure("to look at " + temporary_);
    if (about.st_nlink != 0) return;  // else another writer has removed it as stale
  }
  throw failure("to create a file like " + temporary_);
}

REGIMEN_INLINE Error AtomicFile::failure(const std::string& what, std::string state) const {
  const int code = errno;
  const std::string folder = directory_of(target_);
  if (state.empty() && replaces_) state = "the file that was there before is untouched";
  if (state.empty() && code == ENOENT && !folder.empty()) state = "make the folder " + folder;
  return Error(path_, what, system_words(code), state);
}

REGIMEN_INLINE void AtomicFile::discard() noexcept {
  if (owned_) ::unlink(temporary_.c_str());
  owned_ = false;
}

REGIMEN_INLINE void AtomicFile::remove_stale() const {
  const std::string directory = directory_of(target_), name = stem();
  for (const std::string& found : names_to_tidy(directory))
    if (found.starts_with(name) && ends_temporary(std::string_view(found).substr(name.size())))
      remove_if_stale(directory + found);
}

REGIMEN_INLINE void write_text(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
