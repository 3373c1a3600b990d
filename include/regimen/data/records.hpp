// regimen/data/records.hpp — TFRecord files: their records, by number, and a writer.
#pragma once

#include <regimen/core/crc32c.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/files.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// A record: its bytes, which lie in the mapped file, and where, for errors.
struct Record final {
  std::span<const std::byte> bytes;
  const std::string* file = nullptr;
  std::size_t offset = 0;   // of its length, in the file

  std::string where() const { return file == nullptr ? "a record" : detail::at_offset(*file, offset); }
};

/// The records of TFRecord files, in the order of the files, mapped.
///
///   format   for each record: its length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, the masked
///            CRC-32C of the data
///   value    Record; it points into the file, and lives as long as a copy of this dataset
///
///   data::Records records("flowers-*.tfrec");
///   const data::Example example(records.at({.index = 7}));
///
/// failure  Error that names the file and the offset, when opened: for a checksum of a length that does not match, a length
///          beyond the file's end, a file that is cut off, a compressed file; in at(): for a checksum of the data that does
///          not match. With Corrupt::Skip a record with wrong data is left out, and after a wrong length all the rest of
///          its file, since nothing says where the next record begins; that counts as one record
/// source   tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details"
/// cost     8 bytes of memory for each record; opening reads a page for each record (all pages with Corrupt::Skip), at()
///          the record, for its checksum
class Records final {
 public:
  explicit Records(const Paths& paths, const ReaderOptions& options = {}) {
    auto content = std::make_shared<Content>();
    for (const std::string& path : paths.files()) content->files.push_back({path, MappedFile(path)});
    std::size_t all = 0, done = 0;
    for (const File& file : content->files) all += file.map.bytes().size();
    for (File& file : content->files) {
      file.first = content->offsets.size();
      index(*content, file, options, done, all);
      done += file.map.bytes().size();
      if (options.report) options.report("indexing records", done, all);
    }
    content_ = std::move(content);
  }

  std::size_t size() const { return content_->offsets.size(); }
  std::string name() const {
    const std::size_t files = content_->files.size();
    return content_->files.front().path + (files == 1 ? "" : " and " + std::to_string(files - 1) + " more");
  }
  const Skipped& skipped() const { return content_->skipped; }

  Record at(const Key& key) const {
    if (key.index >= size())
      throw Error(name(), "a record below " + std::to_string(size()), "record " + std::to_string(key.index));
    const auto after = std::upper_bound(content_->files.begin(), content_->files.end(), key.index,
                                        [](std::size_t index, const File& file) { return index < file.first; });
    const File& file = *(after - 1);
    const std::size_t offset = content_->offsets[key.index];
    const Frame frame = read(file, offset);
    if (frame.wrong != nullptr) throw refusal(file, offset, frame);
    return {frame.data, &file.path, offset};
  }

 private:
  static constexpr std::size_t header = 12, trailer = 4;

  struct File {
    std::string path;
    MappedFile map;
    std::size_t first = 0;   // the number of its first record
  };
  struct Content {
    std::vector<File> files;
    std::vector<std::uint64_t> offsets;
    Skipped skipped;
  };
  /// A record, or what is wrong with it.
  struct Frame {
    std::span<const std::byte> data;
    const char* wrong = nullptr;
    std::string expected, found;
  };

  static std::string number(std::uint32_t crc) { return "checksum " + std::to_string(crc); }

  /// The length and its checksum.
  static Frame read_length(const File& file, std::size_t offset) {
    const std::span<const std::byte> rest = file.map.bytes().subspan(offset);
    if (rest.size() < header)
      return {{}, "length", "the 12 bytes of a length and its checksum", std::to_string(rest.size()) + " bytes"};
    const auto written = detail::little<std::uint32_t>(rest.data() + 8), computed = masked_crc32c(rest.first(8));
    if (written != computed) return {{}, "length", number(computed) + " of a record's length", number(written)};
    const auto length = detail::little<std::uint64_t>(rest.data());
    if (rest.size() < header + trailer || length > rest.size() - header - trailer)
      return {{},
              "length",
              "a record of " + std::to_string(length) + " bytes and its checksum",
              "the end of the file after " + std::to_string(rest.size() - header)};
    return {rest.subspan(header, static_cast<std::size_t>(length)), nullptr, {}, {}};
  }
  static Frame read(const File& file, std::size_t offset) {
    Frame frame = read_length(file, offset);
    if (frame.wrong != nullptr) return frame;
    const auto written = detail::little<std::uint32_t>(frame.data.data() + frame.data.size()),
               computed = masked_crc32c(frame.data);
    if (written != computed)
      frame.wrong = "data", frame.expected = number(computed) + " of the record's data", frame.found = number(written);
    return frame;
  }
  static Error refusal(const File& file, std::size_t offset, const Frame& frame) {
    return Error(detail::at_offset(file.path, offset), frame.expected, frame.found,
                 "the file is damaged, cut off, or no TFRecord file; Corrupt::Skip leaves out what is damaged");
  }

  static void index(Content& content, const File& file, const ReaderOptions& options, std::size_t done,
                    std::size_t all) {
    const std::span<const std::byte> bytes = file.map.bytes();
    const bool skips = options.corrupt == Corrupt::Skip;
    if (bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B} &&
        read_length(file, 0).wrong != nullptr)
      throw Error(file.path, "records that are not compressed", "a gzip file", "decompress it with gunzip");
    for (std::size_t offset = 0, count = 0; offset < bytes.size(); ++count) {
      const Frame frame = skips ? read(file, offset) : read_length(file, offset);
      const bool lost = frame.wrong != nullptr && frame.data.data() == nullptr;
      if (frame.wrong != nullptr && !skips) throw refusal(file, offset, frame);
      const std::size_t next = lost ? bytes.size() : offset + header + frame.data.size() + trailer;
      if (frame.wrong != nullptr) content.skipped.records += 1, content.skipped.bytes += next - offset;
      else content.offsets.push_back(offset);
      offset = next;
      if (options.report && count % 4096 == 4095) options.report("indexing records", done + offset, all);
    }
  }

  std::shared_ptr<const Content> content_;
};

/// Writes a TFRecord file, which appears, whole, with commit().
///
///   data::RecordWriter writer("flowers-0.tfrec");
///   writer.write(example.encode());
///   writer.commit();
///
/// failure  Error with the system's reason; then, and without commit(), the path is as it was
class RecordWriter final {
 public:
  explicit RecordWriter(const std::string& path) : file_(path) {}

  void write(std::span<const std::byte> data) {
    std::array<std::byte, 12> header{};
    detail::put_little<std::uint64_t>(header.data(), data.size());
    detail::put_little(header.data() + 8, masked_crc32c(std::span(header).first(8)));
    file_.put(header);
    file_.put(data);
    std::array<std::byte, 4> trailer{};
    detail::put_little(trailer.data(), masked_crc32c(data));
    file_.put(trailer);
    ++records_;
  }
  void write(std::string_view data) { write(detail::bytes_of(data)); }

  std::size_t records() const { return records_; }
  void commit() { file_.commit(); }

 private:
  detail::FileWriter file_;
  std::size_t records_ = 0;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
