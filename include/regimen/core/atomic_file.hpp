// regimen/core/atomic_file.hpp — replaces a file atomically: after a crash, too, the file is the
// whole old or the whole new one.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace regimen::detail {

/// The path behind a symbolic link, or behind links to links; a file need not exist there yet.
[[gnu::cold]] std::string behind_links(const std::string& path);

/// Bytes go to `path.tmp-<process>` in the same directory (the name is cut where the whole would be too long for the
/// system); commit() syncs them, renames them over `path`, and syncs the directory. Without commit() the destructor
/// removes them and `path` is as it was. Linux and other POSIX systems.
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
  [[gnu::cold]] explicit AtomicFile(const std::string& path, const std::string& mode_of = {});
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  [[gnu::cold]] ~AtomicFile() { discard(); }

  const std::string& path() const { return path_; }
  [[gnu::cold]] void write(std::span<const std::byte> bytes);

  /// Replaces bytes that are written already.
  void write_again(std::size_t offset, std::span<const std::byte> bytes);

  /// All bytes are on the disk: a commit needs no more room.
  [[gnu::cold]] void sync();

  [[gnu::cold]] void commit();
  /// The names in the folder of a file are on the disk; if not, errno says why.
  [[gnu::cold]] static bool sync_directory_of(const std::string& path);

  /// As commit(), to another path in the same folder, which is known only now; a link of that name is replaced.
  [[gnu::cold]] void commit_as(const std::string& path);

  /// Whether `text` is the suffix of a temporary's name: ".tmp-<process>" or ".tmp-<process>-<number>".
  [[gnu::cold]] static bool ends_temporary(std::string_view text);
  /// Removes `temporary` if a killed writer left it; keeps the temporary of a living writer, and any other file.
  [[gnu::cold]] static void remove_if_stale(const std::string& temporary);

  /// Throws unless the system can have a file of this name, so that a long run need not end to find out.
  [[gnu::cold]] static void expect_name(const std::string& path);

 private:
  static constexpr ::mode_t mark = S_ISVTX;
  static constexpr std::size_t suffix = 24;  // room for ".tmp-<process>-<number>"
  static constexpr std::size_t most_of_name = NAME_MAX, most_of_path = PATH_MAX - 1 - suffix;

  /// What a temporary's name begins with.
  std::string stem() const { return name_of_file(target_).substr(0, most_of_name - suffix); }

  [[gnu::cold]] static bool is_number(std::string_view text);
  [[gnu::cold]] static bool is_marked(const Descriptor& file);
  void set_mode(::mode_t mode) const { (void)::fchmod(*file_, mode); }  // some file systems have no modes

  /// Creates a new file, and locks it where the file system has locks.
  [[gnu::cold]] void create(::mode_t mode);

  /// The system's reason, and the cure, or what has become of the file.
  [[gnu::cold]] Error failure(const std::string& what, std::string state = {}) const;

  void discard() noexcept;

  /// Removes what writers of the same path left behind when they were killed.
  [[gnu::cold]] void remove_stale() const;

  std::string path_, target_, temporary_;
  Descriptor file_;
  ::mode_t mode_ = 0600;
  bool owned_ = false, replaces_ = false;  // replaces_: a file was there before
};

/// Replaces a file by a text.
[[gnu::cold]] void write_text(const std::string& path, std::string_view text);

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/core/atomic_file.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
