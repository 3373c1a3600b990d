// regimen/data/tar.hpp — tar shards, as WebDataset has them: files of one base name are a sample; headers of archives.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/files.hpp>
#include <regimen/data/indexed_files.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data::detail {

inline constexpr std::size_t tar_block = 512;

/// An entry of an archive: its name, its data, and where the next one begins.
struct TarEntry {
  std::string name;
  std::span<const std::byte> data;
  char type = '0';
  std::size_t offset = 0, next = 0;
};

/// Reads the entries of a mapped archive one after the other. Long names (types L and K of GNU tar) and pax headers
/// (type x: path and size, other keys mean nothing here) belong to the entry after them.
///
/// failure  Error that names the file and the offset: for a header whose checksum does not match, data beyond the
///          file's end, an archive that does not end with a block of zeros, data after it; for long names and pax
///          headers without an entry
class TarReader final {
 public:
  TarReader(const std::string& path, std::span<const std::byte> archive) : path_(path), archive_(archive) {}

  /// The entry at `offset`; none at the end of the archive.
  std::optional<TarEntry> entry(std::size_t offset) const {
    std::optional<std::string> name;
    std::optional<std::uint64_t> length;
    for (const std::size_t first = offset;;) {
      const std::span<const std::byte> header = block(offset);
      if (is_zero(header)) {
        if (offset != first) refuse(offset, "the entry that a long name belongs to", "the end of the archive");
        if (!is_zero(archive_.subspan(offset)))
          refuse(offset, "zeros to the end of the file, after a block of zeros", "other bytes");
        return std::nullopt;
      }
      check_sum(offset, header);
      const char type = static_cast<char>(header[156]);
      const bool extension = type == 'L' || type == 'K' || type == 'x' || type == 'g';
      const std::uint64_t size = !extension && length ? *length : number(offset, header.subspan(124, 12));
      const std::size_t begin = offset + tar_block, room = archive_.size() - begin;
      if (size > room)
        refuse(offset, std::to_string(size) + " bytes of data, as the header says", std::to_string(room));
      const std::span<const std::byte> data = archive_.subspan(begin, static_cast<std::size_t>(size));
      const std::size_t padding = (tar_block - data.size() % tar_block) % tar_block;
      if (padding > room - data.size()) refuse(offset, "data padded to whole blocks", "the end of the file");
      const std::size_t next = begin + data.size() + padding;
      if (type == 'L') name = text_until_zero(data);
      else if (type == 'x') read_pax(offset, text_of(data), name, length);
      if (!extension)
        return {
            {.name = name ? *name : plain_name(header), .data = data, .type = type, .offset = offset, .next = next}};
      offset = next;
    }
  }

 private:
  [[noreturn, gnu::cold]] void refuse(std::size_t offset, const std::string& expected, const std::string& found) const {
    throw Error(at_offset(path_, offset), expected, found, "the archive is damaged, cut off, or compressed");
  }
  static bool is_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
  }
  static std::string text_until_zero(std::span<const std::byte> bytes) {
    const std::string_view text = text_of(bytes);
    return std::string(text.substr(0, text.find('\0')));
  }

  std::span<const std::byte> block(std::size_t offset) const {
    if (archive_.size() - offset < tar_block)
      refuse(offset, "a header of 512 bytes, or a block of zeros at the end",
             offset == archive_.size() ? "the end of the file" : std::to_string(archive_.size() - offset) + " bytes");
    return archive_.subspan(offset, tar_block);
  }
  /// The sum of the header's bytes, its own field as blanks.
  void check_sum(std::size_t offset, std::span<const std::byte> header) const {
    std::uint64_t sum = 8 * ' ';
    for (std::size_t i = 0; i < tar_block; ++i)
      if (i < 148 || i >= 156) sum += std::to_integer<unsigned>(header[i]);
    const std::uint64_t written = number(offset, header.subspan(148, 8));
    if (written != sum) refuse(offset, "checksum " + std::to_string(sum) + " of a header", std::to_string(written));
  }
  /// Octal digits, or, if the first bit is set, a big-endian number.
  std::uint64_t number(std::size_t offset, std::span<const std::byte> field) const {
    std::uint64_t value = 0;
    if ((field[0] & std::byte{0x80}) != std::byte{0}) {
      for (std::size_t i = 0; i < field.size(); ++i) {
        if (value >> 56 != 0) refuse(offset, "a number of 64 bits", "a longer one");
        value = value << 8 | (std::to_integer<std::uint64_t>(field[i]) & (i == 0 ? 0x7Fu : 0xFFu));
      }
      return value;
    }
    std::string_view digits = text_of(field);
    while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
    const std::string_view rest = digits.substr(static_cast<std::size_t>(end - digits.data()));
    if (code != std::errc{} || rest.find_first_not_of(std::string_view(" \0", 2)) != std::string_view::npos)
      refuse(offset, "a number in octal digits", "other characters");
    return value;
  }
  /// The name, after ustar's prefix if there is one. GNU's archives have another magic, and other fields.
  static std::string plain_name(std::span<const std::byte> header) {
    const std::string name = text_until_zero(header.first(100)), prefix = text_until_zero(header.subspan(345, 155));
    const bool ustar = text_of(header.subspan(257, 6)) == std::string_view("ustar\0", 6);
    return ustar && !prefix.empty() ? prefix + "/" + name : name;
  }
  /// Records of a pax header: "LENGTH key=value\n", where LENGTH counts the whole record.
  void read_pax(std::size_t offset, std::string_view text, std::optional<std::string>& name,
                std::optional<std::uint64_t>& length) const {
    const auto wrong = [&] { refuse(offset, "records \"LENGTH key=value\" of a pax header", "other text"); };
    while (!text.empty()) {
      std::size_t count = 0;
      const auto [digits, code] = std::from_chars(text.data(), text.data() + text.size(), count);
      const auto begin = static_cast<std::size_t>(digits - text.data()) + 1;
      if (code != std::errc{} || count > text.size() || count <= begin || *digits != ' ' || text[count - 1] != '\n')
        wrong();
      const std::string_view record = text.substr(begin, count - 1 - begin);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) wrong();
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") {
        name = std::string(value);
      } else if (key == "size") {
        length = regimen::detail::number_of<std::uint64_t>(value);
        if (!length) wrong();
      } else if (key.starts_with("GNU.sparse")) {
        refuse(offset, "files without holes", "a sparse one");
      }
      text.remove_prefix(count);
    }
  }

  std::string path_;
  std::span<const std::byte> archive_;
};

/// Writes a header of a regular file in ustar format, and before it, for a name of more than 100 bytes, a long name of
/// GNU tar.
inline void put_tar_header(FileWriter& file, std::string_view name, std::uint64_t size, char type = '0') {
  const bool is_long = name.size() > 100;
  if (is_long) {
    put_tar_header(file, "././@LongLink", name.size() + 1, 'L');
    file.put(name);
    file.put(std::string(tar_block - name.size() % tar_block, '\0'));  // a zero at least
  }
  std::string block(tar_block, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { block.replace(at, text.size(), text); };
  const auto octal = [](std::uint64_t value, int width) {
    return regimen::detail::printed("%0*llo", width, static_cast<unsigned long long>(value));
  };
  put(0, name.substr(0, 100));
  put(100, "0000644"), put(108, "0000000"), put(116, "0000000");
  if (size >> 33 == 0) put(124, octal(size, 11));
  else {
    block[124] = static_cast<char>(0x80);
    for (std::size_t i = 0; i < 8; ++i) block[135 - i] = static_cast<char>(size >> (8 * i) & 0xFF);
  }
  put(136, "00000000000"), put(148, "        ");
  block[156] = type;
  put(257, std::string_view("ustar  \0", 8));  // GNU's, which has long names
  std::uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6));
  block[154] = '\0';
  file.put(block);
}

}  // namespace regimen::data::detail

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
    const auto place = std::ranges::find(parts, extension, &TarPart::extension);
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
    const std::size_t base = entry.name.rfind('/') + 1, dot = entry.name.find('.', base);
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
/// failure  Error that names the archive and the offset, when opened: for a header whose checksum does not match, an
///          archive that is cut off or does not end with zeros, a link or a device, a name without a dot, two files of
///          one name in a sample. With Corrupt::Skip such files are left out and counted; after a damaged header no
///          reader can find the next file: the rest of the archive is left out, and counts as one. The format has no
///          checksum of data
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
    const std::size_t base = key.rfind('/') + 1;
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
