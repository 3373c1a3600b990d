// regimen/data/indexed_files.hpp — mapped files, and the places of their records.
#pragma once

#include <regimen/core/mapped_file.hpp>
#include <regimen/data/files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace regimen::data::detail {

/// Files, and the offsets of their records, in the order of the files. 8 bytes for each record.
struct IndexedFiles {
  struct File {
    std::string path;
    MappedFile map;
    std::size_t first = 0;  // the number of its first record
  };
  struct Place {
    const File& file;
    std::size_t offset;

    /// "FILE, offset 12" and "FILE, line 3", for errors.
    std::string by_offset() const { return at_offset(file.path, offset); }
    [[gnu::cold]] std::string by_line() const {
      const auto begin = file.map.bytes().begin();
      const auto before = std::count(begin, begin + static_cast<std::ptrdiff_t>(offset), std::byte{'\n'});
      return file.path + ", line " + std::to_string(1 + before);
    }
  };

  explicit IndexedFiles(const Paths& paths) : name(paths.name()) {
    for (const std::string& path : paths.files()) files.push_back({path, MappedFile(path)});
  }

  /// Reads the files: `next(file, offset)` checks the record at `offset`, calls add() or skip(), and returns the begin
  /// of the next record; it is not called at the end of a file.
  template <class Next>
  void index(const Report& report, const char* what, const Next& next) {
    std::size_t all = 0, before = 0, reported = 0;
    for (const File& file : files) all += file.map.bytes().size();
    for (File& file : files) {
      file.first = offsets.size();
      const std::size_t size = file.map.bytes().size();
      for (std::size_t offset = 0; offset < size;) {
        offset = next(file, offset);
        if (report && before + offset - reported >= std::size_t{1} << 24) report(what, reported = before + offset, all);
      }
      before += size;
    }
    if (report) report(what, all, all);
  }
  void add(std::size_t offset) { offsets.push_back(offset); }
  void skip(std::size_t bytes) { skipped.records += 1, skipped.bytes += bytes; }

  std::size_t size() const { return offsets.size(); }
  /// Where record `index` begins.
  Place find(std::size_t index) const {
    if (index >= size())
      throw Error(name, "a record below " + std::to_string(size()), "record " + std::to_string(index));
    const auto after = std::ranges::upper_bound(files, index, {}, &File::first);
    return {*(after - 1), offsets[index]};
  }

  std::string name;
  std::vector<File> files;
  std::vector<std::uint64_t> offsets;
  Skipped skipped;
};

/// Common to datasets of records in files. Copies share the files.
///
///   Content   IndexedFiles, or derived from it
template <class Content>
class IndexedReader {
 public:
  std::size_t size() const { return content_->size(); }
  std::string name() const { return content_->name; }
  const Skipped& skipped() const& { return content_->skipped; }
  Skipped skipped() const&& { return skipped(); }

 protected:
  using File = IndexedFiles::File;

  std::shared_ptr<const Content> content_;
};

}  // namespace regimen::data::detail
// SPDX-License-Identifier: Apache-2.0
