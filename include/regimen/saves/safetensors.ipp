// regimen/saves/safetensors.ipp — a file in the safetensors format, read and written.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/little.hpp>
#include <regimen/saves/detail/safetensors_header.ipp>
#include <regimen/saves/safetensors.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace regimen::safetensors {

REGIMEN_INLINE File::File(const std::string& path, const data::Report& report) : path_(path), file_(path) {
  detail::parse_header(path, file_.bytes(), tensors_, metadata_);
  by_name_ = detail::by_name(tensors_);
  check_sums(report);
}

REGIMEN_INLINE std::span<const Tensor> File::tensors() const& { return tensors_; }

REGIMEN_INLINE const Tensor* File::find(std::string_view name) const& {
  const auto place = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [](const Tensor* tensor, std::string_view of) { return tensor->name < of; });
  return place == by_name_.end() || (*place)->name != name ? nullptr : *place;
}

REGIMEN_INLINE const Tensor& File::tensor(std::string_view name) const& {
  if (const Tensor* found = find(name)) return *found;
  std::string names;
  for (std::size_t i = 0; i < tensors_.size() && i < 8; ++i) names += (i == 0 ? "" : ", ") + tensors_[i].name;
  throw Error(path_, "tensor \"" + std::string(name) + "\"",
              tensors_.empty() ? "no tensors" : "others: " + names + (tensors_.size() > 8 ? ", ..." : ""),
              "was the file written by another model?");
}

REGIMEN_INLINE const Tensor& File::expect(std::string_view name, Dtype dtype,
                                          std::span<const std::size_t> shape) const& {
  const Tensor& found = tensor(name);
  if (found.dtype != dtype) {
    throw Error(path_ + ", tensor \"" + found.name + "\"", std::string("elements of type ") + name_of_dtype(dtype),
                name_of_dtype(found.dtype), "load it with the precision it was saved with, or convert the file");
  }
  if (!std::equal(found.shape.begin(), found.shape.end(), shape.begin(), shape.end())) {
    throw Error(path_ + ", tensor \"" + found.name + "\"", "shape " + shape_text(shape), shape_text(found.shape),
                "was the file written by another model?");
  }
  return found;
}

REGIMEN_INLINE void File::copy(const Tensor& from, std::span<std::byte> to) const {
  if (from.bytes.size() != to.size()) {
    throw Error(path_ + ", tensor \"" + from.name + "\"", std::to_string(to.size()) + " bytes",
                std::to_string(from.bytes.size()));
  }
  if (!to.empty()) std::memcpy(to.data(), from.bytes.data(), from.bytes.size());
}

REGIMEN_INLINE const std::string& File::value(const std::string& key) const& {
  const auto place = metadata_.find(key);
  if (place == metadata_.end())
    throw Error(path_, "metadata \"" + key + "\"", "none", "was the file written by another program?");
  return place->second;
}

REGIMEN_INLINE void File::refuse_dtype(const Tensor& tensor) const {
  throw Error(path_ + ", tensor \"" + tensor.name + "\"", "elements of type F64, F32, F16 or BF16",
              name_of_dtype(tensor.dtype));
}

REGIMEN_INLINE void File::check_sums(const data::Report& report) {
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
  if (header != computed) throw Error(path_ + ", header", "checksum " + header + ", as written in it", computed, cure);
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

namespace detail {
/// write() into a file that the caller commits.
[[gnu::cold]] inline void write_into(regimen::detail::AtomicFile& file, const std::string& path,
                                     std::span<const Tensor> tensors, Metadata metadata) {
  const Pointers ordered = lay_out(path, tensors);
  metadata.emplace("format", "pt");
  const std::string header = write_header(path, ordered, std::move(metadata));
  std::array<std::byte, 8> length{};
  regimen::detail::put_little(length.data(), std::uint64_t{header.size()});
  file.write(length);
  file.write(std::as_bytes(std::span(header)));
  for (const Tensor* const tensor : ordered)
    for_each_piece(*tensor, [&](std::span<const std::byte> piece) { file.write(piece); });
}
}  // namespace detail

REGIMEN_INLINE void write(const std::string& path, std::span<const Tensor> tensors, Metadata metadata) {
  regimen::detail::AtomicFile file(path);
  detail::write_into(file, path, tensors, std::move(metadata));
  file.commit();
}

}  // namespace regimen::safetensors
// SPDX-License-Identifier: Apache-2.0
