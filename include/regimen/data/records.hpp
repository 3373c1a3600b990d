// regimen/data/records.hpp — TFRecord files: their records, by number, and a writer.
#pragma once

#include <regimen/core/crc32c.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/indexed_files.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace regimen::data {

/// A record: its bytes in the mapped file, and their place, for errors.
struct Record final {
  std::span<const std::byte> bytes;
  const std::string* file = nullptr;
  std::size_t offset = 0;  // of its length, in the file

  std::string where() const { return file == nullptr ? "a record" : detail::at_offset(*file, offset); }
};

/// The records of TFRecord files, in the order of the files, mapped.
///
///   format   for each record: its length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, the
///            masked CRC-32C of the data
///   value    Record; it points into the file, and lives as long as a copy of this dataset
///
///   data::Records records("flowers-*.tfrec");
///   const data::Example example(records.at({.index = 7}));
///
/// failure  Error that names the file and the offset, when opened: for a checksum of a length that does not match, a
///          length beyond the file's end, a file that is cut off, a compressed file; in at(): for a checksum of the
///          data that does not match. With Corrupt::Skip a record with wrong data is left out. After a wrong length no
///          reader can find the next record: the whole rest of the file is left out, and counts as one record
/// source   tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details"
/// cost     8 bytes of memory for each record; opening reads a page for each record (all pages with Corrupt::Skip),
///          at() reads the record, for its checksum
class Records final : public detail::IndexedReader<detail::IndexedFiles> {
 public:
  explicit Records(const Paths& paths, const ReaderOptions& options = {}) {
    auto content = std::make_shared<detail::IndexedFiles>(paths);
    const bool skips = options.corrupt == Corrupt::Skip;
    content->index(options.report, "indexing records", [&](const File& file, std::size_t offset) {
      if (offset == 0) refuse_gzip(file);
      const Frame frame = read(file, offset, skips);
      const bool lost = frame.data.data() == nullptr;
      const std::size_t next = lost ? file.map.bytes().size() : offset + header + frame.data.size() + trailer;
      if (frame.found.empty()) content->add(offset);
      else if (skips) content->skip(next - offset);
      else throw refusal(file, offset, frame);
      return next;
    });
    content_ = std::move(content);
  }

  Record at(const Key& key) const& {
    const auto [file, offset] = content_->find(key.index);
    const Frame frame = read(file, offset, true);
    if (!frame.found.empty()) throw refusal(file, offset, frame);
    return {frame.data, &file.path, offset};
  }
  template <class Self = Records>
  Record at(const Key&) const&& {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    return {};
  }
  std::string place(const Key& key) const { return content_->find(key.index).by_offset(); }

 private:
  static constexpr std::size_t header = sizeof(regimen::detail::RecordEnds::before),
                               trailer = sizeof(regimen::detail::RecordEnds::behind);

  /// A record's data, empty if its length is wrong; `found` names the fault, if there is one.
  struct Frame {
    std::span<const std::byte> data;
    std::string expected, found;
  };

  static std::string number(std::uint32_t crc) { return "checksum " + std::to_string(crc); }

  static Frame read(const File& file, std::size_t offset, bool checks_data) {
    const std::span<const std::byte> rest = file.map.bytes().subspan(offset);
    if (rest.size() < header)
      return {{}, "the 12 bytes of a length and its checksum", std::to_string(rest.size()) + " bytes"};
    const auto length_sum = detail::little<std::uint32_t>(rest.data() + 8);
    if (const std::uint32_t computed = masked_crc32c(rest.first(8)); length_sum != computed)
      return {{}, number(computed) + " of a record's length", number(length_sum)};
    const auto length = detail::little<std::uint64_t>(rest.data());
    if (rest.size() < header + trailer || length > rest.size() - header - trailer)
      return {{},
              "a record of " + std::to_string(length) + " bytes and its checksum",
              "the end of the file after " + std::to_string(rest.size() - header)};
    Frame frame{rest.subspan(header, static_cast<std::size_t>(length)), {}, {}};
    if (!checks_data) return frame;
    const auto data_sum = detail::little<std::uint32_t>(frame.data.data() + frame.data.size());
    if (const std::uint32_t computed = masked_crc32c(frame.data); data_sum != computed)
      frame.expected = number(computed) + " of the record's data", frame.found = number(data_sum);
    return frame;
  }
  static Error refusal(const File& file, std::size_t offset, const Frame& frame) {
    return Error(detail::at_offset(file.path, offset), frame.expected, frame.found,
                 "the file is damaged, cut off, or no TFRecord file; Corrupt::Skip leaves out what is damaged");
  }
  static void refuse_gzip(const File& file) {
    const std::span<const std::byte> bytes = file.map.bytes();
    if (bytes.size() > 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B} &&
        read(file, 0, false).data.data() == nullptr)
      throw Error(file.path, "records that are not compressed", "a gzip file", "decompress it with gunzip");
  }
};

/// Writes a TFRecord file, which appears, whole, with commit().
///
///   data::RecordWriter writer("flowers-0.tfrec");
///   writer.write(example.encode());
///   writer.commit();
///
/// failure  Error with the system's reason; after an Error, and without commit(), the path has its old content
class RecordWriter final {
 public:
  explicit RecordWriter(const std::string& path) : file_(path) {}

  void write(std::span<const std::byte> data) {
    const regimen::detail::RecordEnds ends(data);
    file_.put(ends.before);
    file_.put(data);
    file_.put(ends.behind);
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
