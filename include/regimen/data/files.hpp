// regimen/data/files.hpp — for readers and writers of records: paths, little-endian numbers, damage, a file to write.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/file.hpp>
#include <regimen/core/little.hpp>
#include <regimen/data/report.hpp>

#include <glob.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regimen::data {

/// How a reader treats a damaged record.
///
///   Refuse   throws Error, which names the file and the offset
///   Skip     leaves it out, and counts it in skipped(). All data are checked when the reader is opened, so the number
///            of values does not change later
enum class Corrupt { Refuse, Skip };

/// The number of records that Corrupt::Skip left out, and their bytes.
struct Skipped final {
  std::size_t records = 0, bytes = 0;
  bool operator==(const Skipped&) const = default;
};

struct ReaderOptions final {
  Corrupt corrupt = Corrupt::Refuse;
  Report report = {};  // of opening
};

/// The files of a dataset: a path, a pattern of the shell ("flowers-*.tfrec", whose files come sorted by the bytes of
/// their names), or a list of paths and patterns. A name that exists is taken literally: a file that has the name of
/// the pattern, or the folder "runs[2]" in "runs[2]/*.bin", even if there is a folder "runs2", too. Elsewhere a
/// backslash makes a plain letter of * ? [. A list may name a file twice, to read it twice.
///
/// failure  Error if a pattern or a list gives no file, or if a pattern matches a file that the list also names
class Paths final {
 public:
  Paths(const char* pattern) : Paths(std::string(pattern)) {}
  Paths(const std::string& pattern) { add(pattern); }
  Paths(std::initializer_list<std::string> patterns) : Paths(std::vector<std::string>(patterns)) {}
  Paths(const std::vector<std::string>& patterns) {
    std::set<std::string> named, matched;
    for (const std::string& pattern : patterns) {
      const std::size_t begin = files_.size();
      const bool matches = add(pattern);
      for (std::size_t i = begin; i < files_.size(); ++i) {
        if (matched.contains(files_[i]) || (matches && named.contains(files_[i])))
          throw Error(pattern, "no file that the list has already", files_[i], "leave one of the two out");
        (matches ? matched : named).insert(files_[i]);
      }
    }
    if (files_.empty()) throw Error("a dataset", "one file or more", "an empty list");
  }

  const std::vector<std::string>& files() const& { return files_; }
  std::vector<std::string> files() const&& { return files(); }
  /// For errors: the first file, and the number of the others, as in "a.csv and 3 more".
  std::string name() const {
    return files_[0] + (files_.size() == 1 ? "" : " and " + std::to_string(files_.size() - 1) + " more");
  }

 private:
  /// Whether it is a pattern.
  bool add(const std::string& pattern) {
    regimen::detail::expect_path(pattern);
    const std::size_t named = length_of_folder(pattern);
    if (pattern.find_first_of("*?[", named) == std::string::npos || regimen::detail::exists(pattern)) {
      files_.push_back(pattern);
      return false;
    }
    std::string plain;
    for (const char letter : pattern.substr(0, named)) {
      if (letter == '*' || letter == '?' || letter == '[' || letter == '\\') plain += '\\';
      plain += letter;
    }
    ::glob_t found{};
    const int code = ::glob((plain + pattern.substr(named)).c_str(), GLOB_NOSORT, nullptr, &found);
    const std::size_t begin = files_.size();
    if (code == 0) files_.insert(files_.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (code != 0)
      throw Error(pattern, "files that match it", code == GLOB_NOMATCH ? "none" : "a folder that cannot be read",
                  "check the pattern; write it in quotes in a shell");
    std::sort(files_.begin() + static_cast<std::ptrdiff_t>(begin), files_.end());
    return true;
  }

  /// The longest beginning of a pattern that is the name of a folder, with its slash.
  static std::size_t length_of_folder(const std::string& pattern) {
    std::size_t length = 0;
    for (std::size_t at = 0; (at = pattern.find('/', at)) != std::string::npos; length = ++at)
      if (!regimen::detail::exists(pattern.substr(0, at + 1))) break;
    return length;
  }

  std::vector<std::string> files_;
};

namespace detail {

/// One name for each type; the caller refuses another number of names.
template <std::size_t Types, std::size_t Count>
std::array<std::string, Types> names_of(const std::string (&names)[Count]) {
  std::array<std::string, Types> result;
  std::copy_n(names, (std::min)(Count, Types), result.begin());
  return result;
}

/// "a whole number from 0 to 255", for errors.
template <class T>
std::string type_of_number() {
  if constexpr (std::is_floating_point_v<T>) return "a number";
  else
    return "a whole number from " + std::to_string((std::numeric_limits<T>::min)()) + " to " +
           std::to_string((std::numeric_limits<T>::max)());
}

/// Refuses files that are no text in UTF-8, whose bytes an error would show instead.
[[gnu::noinline]] inline void expect_text(const std::string& path, std::span<const std::byte> bytes) {
  const auto begins = [&](unsigned first, unsigned second) {
    return bytes.size() > 1 && bytes[0] == std::byte(first) && bytes[1] == std::byte(second);
  };
  if (begins(0x1F, 0x8B)) throw Error(path, "text that is not compressed", "a gzip file", "decompress it with gunzip");
  if (begins(0xFF, 0xFE) || begins(0xFE, 0xFF))
    throw Error(path, "text in UTF-8", "a file in UTF-16", "convert it with iconv -f UTF-16 -t UTF-8");
}

using regimen::detail::little;
using regimen::detail::put_little;

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// "FILE, offset 12", for errors.
inline std::string at_offset(const std::string& file, std::size_t offset) {
  return file + ", offset " + std::to_string(offset);
}

/// A file that appears when it is committed, written in pieces of 1 MiB.
class FileWriter final {
 public:
  explicit FileWriter(const std::string& path) : file_(path) {}

  const std::string& path() const { return file_.path(); }

  void put(std::span<const std::byte> bytes) {
    if (committed_) throw Error(path(), "no more data after commit()", std::to_string(bytes.size()) + " bytes");
    if (bytes.size() >= piece) {
      flush();
      file_.write(bytes);
      return;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= piece) flush();
  }
  void put(std::string_view text) { put(bytes_of(text)); }

  void commit() {
    flush();
    file_.commit();
    committed_ = true;
  }

 private:
  static constexpr std::size_t piece = std::size_t{1} << 20;

  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  regimen::detail::AtomicFile file_;
  std::vector<std::byte> buffer_;
  bool committed_ = false;
};

}  // namespace detail

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
