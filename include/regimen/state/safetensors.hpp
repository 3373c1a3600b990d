// regimen/state/safetensors.hpp — the safetensors format: files are checked completely
// when read, and written atomically.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/core/number.hpp>
#include <regimen/data/report.hpp>
#include <regimen/state/detail/safetensors_header.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::safetensors {

/// A file in the safetensors format: 8 bytes of header length, little-endian; a header in JSON; data.
///
///   { "__metadata__": {"key": "value"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ... }
///
/// The constructor checks all of it: a header of at most 100 MB, well-formed JSON without unknown or
/// repeated keys, known element types, shapes whose product fits 64 bits and agrees with the offsets, offsets that tile
/// the data without gap or overlap, the size of the file to the byte, and, where the file was written by write(),
/// checksums of the header and of each tensor, so that every flipped bit is found. Files of other programs have no
/// checksums and are accepted.
///
/// failure  Error that names the file, the tensor, the expected and the found value. No memory is allocated for sizes
///          that a header only claims.
/// source   github.com/huggingface/safetensors, format of version 0.3 and later
/// cost     mapped, not copied; one pass over the data for the checksums (about 1 GB/s), of which `report` hears
class File final {
 public:
  [[gnu::noinline]] explicit File(const std::string& path, const data::Report& report = {}) : path_(path), file_(path) {
    detail::parse_header(path, file_.bytes(), tensors_, metadata_);
    by_name_ = detail::by_name(tensors_);
    check_sums(report);
  }

  const std::string& path() const { return path_; }
  /// In the order of their data.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// The writer's metadata, without the checksums.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The tensor of that name, or null.
  const Tensor* find(std::string_view name) const {
    const auto place = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                        [](const Tensor* tensor, std::string_view of) { return tensor->name < of; });
    return place == by_name_.end() || (*place)->name != name ? nullptr : *place;
  }

  /// The tensor of that name; throws Error if there is none.
  const Tensor& tensor(std::string_view name) const {
    if (const Tensor* found = find(name)) return *found;
    std::string names;
    for (std::size_t i = 0; i < tensors_.size() && i < 8; ++i) names += (i == 0 ? "" : ", ") + tensors_[i].name;
    throw Error(path_, "tensor \"" + std::string(name) + "\"",
                tensors_.empty() ? "no tensors" : "others: " + names + (tensors_.size() > 8 ? ", ..." : ""),
                "was the file written by another model?");
  }

  /// The tensor of that name; throws Error unless it has this element type and shape.
  template <class T>
  const Tensor& expect(std::string_view name, std::span<const std::size_t> shape) const {
    const Tensor& found = tensor(name);
    if (found.dtype != dtype_of<T>) {
      throw Error(path_ + ", tensor \"" + found.name + "\"",
                  std::string("elements of type ") + name_of_dtype(dtype_of<T>), name_of_dtype(found.dtype),
                  "load it with the precision it was saved with, or convert the file");
    }
    if (!std::equal(found.shape.begin(), found.shape.end(), shape.begin(), shape.end())) {
      throw Error(path_ + ", tensor \"" + found.name + "\"", "shape " + shape_text(shape), shape_text(found.shape),
                  "was the file written by another model?");
    }
    return found;
  }

  /// Copies a tensor, which must have this element type and shape; without conversion.
  template <class T>
  void copy(std::string_view name, std::span<const std::size_t> shape, std::span<T> to) const {
    const Tensor& from = expect<T>(name, shape);
    if (from.bytes.size() != to.size_bytes()) {
      throw Error(path_ + ", tensor \"" + from.name + "\"", std::to_string(to.size_bytes()) + " bytes",
                  std::to_string(from.bytes.size()));
    }
    if (!to.empty()) std::memcpy(to.data(), from.bytes.data(), from.bytes.size());
  }

  /// The metadata of that key; throws Error if there is none.
  const std::string& value(const std::string& key) const {
    const auto place = metadata_.find(key);
    if (place == metadata_.end())
      throw Error(path_, "metadata \"" + key + "\"", "none", "was the file written by another program?");
    return place->second;
  }

 private:
  [[gnu::cold]] void check_sums(const data::Report& report) {
    const bool summed = std::any_of(metadata_.begin(), metadata_.end(),
                                    [](const auto& entry) { return detail::is_checksum(entry.first); });
    if (!summed) return;
    const char* const cure = "the file is damaged; use an older one";
    const auto take = [this, cure](const std::string& key) {
      const auto place = metadata_.find(key);
      if (place == metadata_.end())
        throw Error(path_ + ", header", "a checksum \"" + key + "\" beside the others", "none", cure);
      std::string value = std::move(place->second);
      metadata_.erase(place);
      return value;
    };
    const std::string header = take(detail::checksum_key),
                      computed = detail::header_checksum(by_name_, metadata_);  // includes the checksums of the tensors
    if (header != computed)
      throw Error(path_ + ", header", "checksum " + header + ", as written in it", computed, cure);
    std::size_t done = 0, all = 0;
    for (const Tensor& tensor : tensors_) all += tensor.bytes.size();
    const auto hear = [&](std::size_t bytes) {
      done += bytes;
      if (report) report("checking checksums", done, all);
    };
    for (const Tensor& tensor : tensors_) {
      const std::string written = take(detail::checksum_key_of(tensor)), found = detail::checksum(tensor, hear);
      if (written != found)
        throw Error(path_ + ", tensor \"" + tensor.name + "\"", "checksum " + written + ", as written in the header",
                    found, cure);
    }
  }

  std::string path_;
  MappedFile file_;
  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
  detail::Pointers by_name_;  // into tensors_
};

namespace detail {
/// write() into a file that the caller commits.
[[gnu::cold]] inline void write_into(regimen::detail::AtomicFile& file, const std::string& path,
                                     std::span<const Tensor> tensors, std::map<std::string, std::string> metadata) {
  const Pointers ordered = lay_out(path, tensors);
  metadata.emplace("format", "pt");
  const std::string header = write_header(path, ordered, std::move(metadata));
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xFF);
  file.write(length);
  file.write(std::as_bytes(std::span(header)));
  for (const Tensor* const tensor : ordered)
    tensor->for_each_piece([&](std::span<const std::byte> piece) { file.write(piece); });
}
}  // namespace detail

/// Writes tensors, in any order, and metadata, atomically (see detail::AtomicFile): after a failure or a kill at any
/// moment `path` is the whole old or the whole new file.
///
///   metadata   gets "format": "pt" unless it has a "format", since the transformers library requires one, and the
///              checksums, "crc32" of the header and "crc32.<name>" of each tensor; those keys are reserved
///   data       begin at a multiple of 64 bytes; tensors of wider types come first, so that each is aligned
///
/// failure  Error with the system's reason; for two tensors of one name, a name that is no UTF-8, or a number of bytes
///          that does not match the shape
/// cost     two passes over the data, for checksums and for writing, and the time of the disk
[[gnu::noinline]] inline void write(const std::string& path, std::span<const Tensor> tensors,
                                    std::map<std::string, std::string> metadata = {}) {
  regimen::detail::AtomicFile file(path);
  detail::write_into(file, path, tensors, std::move(metadata));
  file.commit();
}

}  // namespace regimen::safetensors
// SPDX-License-Identifier: Apache-2.0
