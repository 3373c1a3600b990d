// regimen/data/tar.hpp — tar shards, as WebDataset has them: files of one base name are a sample.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/indexed_files.hpp>
#include <regimen/data/tar_header.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data {

/// A file of a sample: the text after the first dot of its name ("jpg", "seg.png"), and its bytes in the mapped
/// archive.
struct TarPart final {
  std::string extension;
  std::span<const std::byte> bytes;
};

/// A sample: its files in their order in the archive.
struct TarSample final {
  std::string_view key;  // "train/0007", the name up to the first dot after the last slash
  std::span<const TarPart> parts;
  const std::string* file = nullptr;
  std::size_t offset = 0;

  std::string where() const {
    return (file == nullptr ? "a tar archive" : detail::at_offset(*file, offset)) + ", sample " + std::string(key);
  }
  bool has(std::string_view extension) const { return find(extension) != nullptr; }
  /// The bytes of the file with this extension; throws Error that names the sample and its files if there is none.
  std::span<const std::byte> part(std::string_view extension) const {
    if (const TarPart* found = find(extension)) return found->bytes;
    std::string others;
    for (const TarPart& part : parts) others += (others.empty() ? "" : ", ") + part.extension;
    throw Error(where(), "a file with the extension " + std::string(extension), "only " + others,
                "the files of a sample stand side by side in the archive");
  }
  std::string_view text(std::string_view extension) const { return detail::text_of(part(extension)); }

 private:
  const TarPart* find(std::string_view extension) const {
    const auto place =
        std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.extension == extension; });
    return place == parts.end() ? nullptr : &*place;
  }
};

namespace detail {

/// The samples of archives: the files whose names are the same up to the extension.
struct TarContent final : IndexedFiles {
  struct Sample {
    std::string key;
    std::size_t first = 0;  // of its parts
  };

  explicit TarContent(const Paths& paths) : IndexedFiles(paths) {}

  /// Adds a file to the sample that it belongs to.
  void put(const File& file, const TarEntry& entry) {
    const auto refuse = [&](const std::string& expected, const std::string& found) {
      throw Error(at_offset(file.path, entry.offset), expected, found,
                  "leave it out of the archive; Corrupt::Skip leaves out such files");
    };
    if (entry.type != '0' && entry.type != '\0' && entry.type != '7')
      refuse("files and folders", entry.name + ", a link or a device");
    const std::size_t slash = entry.name.rfind('/'), base = slash == std::string::npos ? 0 : slash + 1,
                      dot = entry.name.find('.', base);
    if (dot == std::string::npos || dot == base) refuse("files named KEY.EXTENSION", entry.name);
    const std::string_view key = std::string_view(entry.name).substr(0, dot);
    std::string extension = entry.name.substr(dot + 1);
    if (size() == file.first || samples.back().key != key) {
      add(entry.offset);
      samples.push_back({std::string(key), parts.size()});
    }
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(samples.back().first);
    if (parts.end() - first >= most_parts)
      refuse("at most " + std::to_string(most_parts) + " files in a sample", entry.name + " after them");
    if (std::any_of(first, parts.end(), [&](const TarPart& part) { return part.extension == extension; }))
      refuse("each file once in a sample", entry.name + " twice");
    parts.push_back({std::move(extension), entry.data});
  }

  static constexpr std::ptrdiff_t most_parts = 1000;  // each is compared with those before it
  std::vector<Sample> samples;
  std::vector<TarPart> parts;
};

}  // namespace detail

/// The samples of tar archives, in the order of the archives. Neighbouring files whose names are the same up to the
/// first dot after the last slash are a sample. Entries for folders are ignored.
///
///   value   TarSample; it points into the archive, and lives as long as a copy of this dataset
///
///   data::Tar shards("imagenet-*.tar");
///   shards.at({.index = 7}).part("jpg")
///
/// failure  Error that names the archive and the offset, when opened: for a header whose checksum does not match, an archive
///          that is cut off or does not end with zeros, a link or a device, a name without a dot, two files of one name
///          in a sample. With Corrupt::Skip such files are left out and counted; after a damaged header no reader can
///          find the next file: the rest of the archive is left out, and counts as one. The format has no checksum of
///          data
/// source   POSIX pax; GNU tar manual, "Basic Tar Format"; WebDataset, "The WebDataset Format"
/// cost     about 100 bytes of memory for a sample and 50 for each of its files; opening reads a page for each file
class Tar final : public detail::IndexedReader<detail::TarContent> {
 public:
  explicit Tar(const Paths& paths, const ReaderOptions& options = {}) {
    auto content = std::make_shared<detail::TarContent>(paths);
    const bool skips = options.corrupt == Corrupt::Skip;
    content->index(options.report, "indexing archives", [&](const File& file, std::size_t offset) {
      const detail::TarReader reader(file.path, file.map.bytes());
      const std::size_t end = file.map.bytes().size();
      std::size_t at = offset, next = end;  // after the end of the archive, and after a damaged header
      try {
        const auto entry = reader.entry(offset);
        if (!entry) return end;
        next = entry->next;
        if (entry->type != '5') content->put(file, *entry);
        at = next;
        if (next == end) (void)reader.entry(next);  // refuses: there are no zeros
      } catch (const Error&) {
        if (!skips) throw;
        content->skip(next - at);
      }
      return next;
    });
    for (const File& file : content->files)  // an archive without a byte has no end either
      if (file.map.bytes().empty() && !skips) (void)detail::TarReader(file.path, {}).entry(0);
    content_ = std::move(content);
  }

  TarSample at(const Key& key) const& {
    const auto [file, offset] = content_->find(key.index);
    const detail::TarContent::Sample& sample = content_->samples[key.index];
    const std::size_t end = key.index + 1 < size() ? content_->samples[key.index + 1].first : content_->parts.size();
    return {sample.key, std::span(content_->parts).subspan(sample.first, end - sample.first), &file.path, offset};
  }
  template <class Self = Tar>
  TarSample at(const Key&) const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    return {};
  }
  std::string place(const Key& key) const { return at(key).where(); }
};

/// Writes a tar archive that Tar, WebDataset and tar read; it appears, whole, with commit(). The bytes depend only on
/// the written files: the archive has no times and no users.
///
///   data::TarWriter shard("shard-000.tar");
///   shard.write("0007", "jpg", jpeg);
///   shard.write("0007", "cls", "3");
///   shard.commit();
///
/// failure  Error for a key with a dot, or with nothing, after its last slash; with the system's reason
class TarWriter final {
 public:
  explicit TarWriter(const std::string& path) : file_(path) {}

  void write(const std::string& key, const std::string& extension, std::span<const std::byte> data) {
    const std::size_t slash = key.rfind('/'), base = slash == std::string::npos ? 0 : slash + 1;
    if (base == key.size() || key.find('.', base) != std::string::npos || extension.empty() ||
        (key + extension).find('\0') != std::string::npos || extension.find('/') != std::string::npos)
      throw Error(file_.path(), "a key without a dot in its last part, and an extension",
                  "\"" + key + "\" and \"" + extension + "\"");
    detail::put_tar_header(file_, key + "." + extension, data.size());
    file_.put(data);
    file_.put(std::string((detail::tar_block - data.size() % detail::tar_block) % detail::tar_block, '\0'));
  }
  void write(const std::string& key, const std::string& extension, std::string_view data) {
    write(key, extension, detail::bytes_of(data));
  }
  void commit() {
    file_.put(std::string(2 * detail::tar_block, '\0'));
    file_.commit();
  }

 private:
  detail::FileWriter file_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
