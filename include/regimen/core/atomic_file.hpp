// regimen/core/atomic_file.hpp — replaces a file atomically: after a crash, too, the file is the
// whole old or the whole new one.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::detail {

/// The path behind a symbolic link, or behind links to links; a file need not exist there yet.
[[gnu::cold]] inline std::string behind_links(const std::string& path) {
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

/// Bytes go to `path.tmp-<process>` in the same directory (the name is cut where the whole would be too long for the system); commit() syncs them, renames them over `path`, and syncs the
/// directory. Without commit() the destructor removes them and `path` is as it was. Linux and other POSIX systems.
///
/// links     a symbolic link stays one: the file that it leads to is replaced
/// mode      the mode of `mode_of` if it is given, else of the replaced file; if that file does not exist, the
///           process's default for new files
/// killed    a killed process leaves its temporary behind; the next writer of the same path removes it. The sticky bit
///           marks a temporary, since nobody sets it on a file of their own; a lock, which ends with its process, marks
///           a living writer. On a file system without locks (Lustre without -o flock) the temporary stays
/// failure   every member throws Error with the system's reason (no such directory, permission, no space left); then
///           `path` holds what it held. If only the final sync of the directory fails, `path`
///           may hold the old or the new bytes
class AtomicFile final {
 public:
  [[gnu::cold]] explicit AtomicFile(const std::string& path, const std::string& mode_of = {})
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
      if (!same && ::fchown(*file_, there.st_uid, there.st_gid) != 0 &&
          ::fchown(*file_, ::uid_t(-1), there.st_gid) != 0)
        mode_ = (mode_ & ~::mode_t{070}) | (mode_ & 07) << 3;  // another group gets no more than others do
      set_mode(mode_ | mark);
    } else if (struct ::stat about{}; ::fstat(*file_, &about) == 0) {
      mode_ = about.st_mode & 0777;  // as the process's mask leaves it
    }
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  [[gnu::cold]] ~AtomicFile() { discard(); }

  [[gnu::cold]] void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written =
          ::write(*file_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw failure("to write " + std::to_string(bytes.size()) + " bytes");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  /// Replaces bytes that are written already.
  void write_again(std::size_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::pwrite(*file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw failure("to write " + std::to_string(bytes.size()) + " bytes");
      offset += static_cast<std::size_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  /// All bytes are on the disk: a commit needs no more room.
  [[gnu::cold]] void sync() {
    if (::fsync(*file_) != 0) throw failure("to sync " + temporary_);
  }

  [[gnu::cold]] void commit() {
    sync();
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) throw failure("to rename " + temporary_);
    owned_ = false;
    set_mode(mode_);  // a kill just before leaves the mark, which harms nothing and goes with the next save
    if (!sync_directory_of(target_))
      throw failure("to sync the directory", "the new file is in place, but may not survive a loss of power");
  }
  /// The names in the folder of a file are on the disk; if not, errno says why.
  [[gnu::cold]] static bool sync_directory_of(const std::string& path) {
    const std::string name = directory_of(path);
    const Descriptor directory(::open(name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return *directory >= 0 && (::fsync(*directory) == 0 || errno == EINVAL);
  }

  /// The same under another name in the same folder, which only now is known; a link of that name is replaced.
  [[gnu::cold]] void commit_as(const std::string& path) {
    path_ = target_ = path;
    commit();
  }

  /// Whether `text` is the suffix of a temporary's name: ".tmp-<process>" or ".tmp-<process>-<number>".
  [[gnu::cold]] static bool ends_temporary(std::string_view text) {
    constexpr std::string_view begin = ".tmp-";
    if (!text.starts_with(begin)) return false;
    text.remove_prefix(begin.size());
    const std::size_t dash = text.find('-');
    return is_number(text.substr(0, dash)) && (dash == std::string_view::npos || is_number(text.substr(dash + 1)));
  }
  /// Removes `temporary` if a killed writer left it; keeps the temporary of a living writer, and any other file.
  [[gnu::cold]] static void remove_if_stale(const std::string& temporary) {
    const Descriptor file(::open(temporary.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (is_marked(file) && ::flock(*file, LOCK_EX | LOCK_NB) == 0) ::unlink(temporary.c_str());
  }

  /// Throws unless the system can have a file of this name, so that a long run need not end to find out.
  [[gnu::cold]] static void expect_name(const std::string& path) {
    expect_path(path);
    const std::size_t length = name_of_file(path).size();
    if (length > most_of_name || path.size() > most_of_path)
      throw Error(path,
                  "a name of at most " + std::to_string(most_of_name) + " bytes, in a path of at most " +
                      std::to_string(most_of_path),
                  std::to_string(length) + " in " + std::to_string(path.size()), "give a shorter name");
  }

 private:
  static constexpr ::mode_t mark = S_ISVTX;
  static constexpr std::size_t suffix = 24;  // room for ".tmp-<process>-<number>"
  static constexpr std::size_t most_of_name = NAME_MAX, most_of_path = PATH_MAX - 1 - suffix;

  /// What a temporary's name begins with.
  std::string stem() const { return name_of_file(target_).substr(0, most_of_name - suffix); }

  [[gnu::cold]] static bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  [[gnu::cold]] static bool is_marked(const Descriptor& file) {
    struct ::stat about{};
    return *file >= 0 && ::fstat(*file, &about) == 0 && S_ISREG(about.st_mode) && (about.st_mode & mark) != 0;
  }
  void set_mode(::mode_t mode) const { (void)::fchmod(*file_, mode); }  // some file systems have no modes

  /// Creates a new file, and locks it where the file system has locks.
  [[gnu::cold]] void create(::mode_t mode) {
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
      if (::flock(*file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        continue;  // another writer takes it for stale
      struct ::stat about{};
      if (::fstat(*file_, &about) != 0) throw failure("to look at " + temporary_);
      if (about.st_nlink != 0) return;  // else another writer has removed it as stale
    }
    throw failure("to create a file like " + temporary_);
  }

  /// The system's reason, and the cure, or what has become of the file.
  [[gnu::cold]] Error failure(const std::string& what, std::string state = {}) const {
    const int code = errno;
    const std::string folder = directory_of(target_);
    if (state.empty() && replaces_) state = "the file that was there before is untouched";
    if (state.empty() && code == ENOENT && !folder.empty()) state = "make the folder " + folder;
    return Error(path_, what, system_words(code), state);
  }

  void discard() noexcept {
    if (owned_) ::unlink(temporary_.c_str());
    owned_ = false;
  }

  /// Removes what writers of the same path left behind when they were killed.
  [[gnu::cold]] void remove_stale() const {
    const std::string directory = directory_of(target_), name = stem();
    for (const std::string& found : names_to_tidy(directory))
      if (found.starts_with(name) && ends_temporary(std::string_view(found).substr(name.size())))
        remove_if_stale(directory + found);
  }

  std::string path_, target_, temporary_;
  Descriptor file_;
  ::mode_t mode_ = 0600;
  bool owned_ = false, replaces_ = false;  // replaces_: a file was there before
};

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
