// regimen/core/file.hpp — opens and reads files; no other header opens a file that it reads.
#pragma once

#include <regimen/core/error.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace regimen::detail {

// Not std::filesystem, which costs each program half a second of compile time.

/// The operating system's text for the error `code`; safe in any thread.
inline std::string system_words(int code) { return std::generic_category().message(code); }

/// An open file, closed at the end of the scope.
class Descriptor final {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int operator*() const { return number_; }
  /// Somebody else closes it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// The system reads a path up to its first NUL, and would find another file.
[[gnu::cold]] void expect_path(const std::string& path);

/// A regular file, open for reading.
struct OpenFile final {
  std::string path;
  Descriptor descriptor;
  std::size_t size;  // when it was opened; of the system's own files (/proc) 0
};

/// Opens a file for reading.
///
///   expected   what the caller reads, for the error
///
/// failure  Error when there is none, when it cannot be read, and when it is a directory, a pipe or a device, for whose
///          data a reader might wait for ever
[[gnu::cold]] OpenFile open_file(const std::string& path, const char* expected = "a regular file");

/// All bytes from its beginning to its end.
///
///   Bytes   std::string, or std::vector of a type of one byte
///
/// failure  Error when the system fails to read, and when the file becomes shorter meanwhile
template <class Bytes = std::string>
[[gnu::cold]] Bytes read_to_end(const OpenFile& file) {
  Bytes bytes;
  bytes.resize(file.size);
  std::array<typename Bytes::value_type, 4096> more;  // what the size did not tell
  for (std::size_t done = 0;;) {
    const bool fits = done < bytes.size();
    const ::ssize_t got =
        ::read(*file.descriptor, fits ? bytes.data() + done : more.data(), fits ? bytes.size() - done : more.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(file.path, "a file that can be read", system_words(errno), "check the disk, or the network to it");
    if (got == 0 && fits)
      throw Error(file.path, std::to_string(bytes.size()) + " bytes", std::to_string(done),
                  "it became shorter while it was read");
    if (got == 0) return bytes;
    if (!fits) bytes.insert(bytes.end(), more.data(), more.data() + got);
    done += static_cast<std::size_t>(got);
  }
}

/// Whether a path leads to something.
///
/// failure  Error when the system does not say (no permission, a disk that fails)
[[gnu::cold]] bool exists(const std::string& path);

/// All of a text file; nullopt if there is none.
[[gnu::cold]] std::optional<std::string> read_if_there(const std::string& path);

/// A text that the system gives of itself, such as /proc/self/statm; empty where it gives none.
[[gnu::cold]] std::string system_text(const char* path);

/// The directory of a file, with its slash; empty for a bare name.
[[gnu::cold]] inline std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }
/// The rest of a path.
[[gnu::cold]] inline std::string name_of_file(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// The names in a directory, which is as directory_of gives it; none if there is no such directory.
///
/// failure  Error when it cannot be read, or not to its end
[[gnu::cold]] std::vector<std::string> names_in(const std::string& directory);
/// As names_in, but none if the directory cannot be read: for code that tidies up, where an unknown file just stays.
[[gnu::cold]] std::vector<std::string> names_to_tidy(const std::string& directory);

}  // namespace regimen::detail

#if !REGIMEN_COMPILED
#include <regimen/core/file.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
