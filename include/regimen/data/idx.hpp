// regimen/data/idx.hpp — MNIST's files: images and labels in IDX format, plain or gzipped.
#pragma once

#include <regimen/core/file.hpp>
#include <regimen/data/report.hpp>
#include <regimen/data/source.hpp>

#include <zlib.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace regimen {

namespace detail {

/// A file in IDX format: 0, 0, type of the elements (8: unsigned bytes), number of dimensions, each dimension as 32
/// bits big-endian, data.
struct IdxContent {
  std::string name;
  std::vector<std::size_t> extents;
  std::vector<std::uint8_t> data;
};

/// Reads a file through zlib, which passes plain files through.
class GzipReader final {
 public:
  explicit GzipReader(const std::string& path);

  /// Reads up to `to.size()` bytes.
  std::size_t read(std::span<std::uint8_t> to);

  /// The most bytes that it may hold; known after the first read. A gzip file may claim a thousand times its own size;
  /// images become 2 to 10 times as large.
  std::size_t most() const;

  static constexpr const char* damaged = "the file is damaged or cut off; fetch it again";

 private:
  std::string path_;
  std::size_t bytes_ = 0;
  std::unique_ptr<::gzFile_s, int (*)(::gzFile)> file_{nullptr, ::gzclose_r};
};

IdxContent read_idx(const std::string& path, std::uint8_t type = 8, std::size_t bytes_of_element = 1,
                    const char* type_name = "unsigned bytes", const data::Report& report = {});

}  // namespace detail

/// Images and labels from two IDX files of unsigned bytes, plain or gzipped: MNIST, Fashion-MNIST, EMNIST.
///
///   input    (H·W), the product of all extents except the first    pixel / 255, in [0, 1], float or double
///   target   (1)                                            the label
///
///   Idx(images, labels).range(0, 8000)   a part, sharing memory
///
/// failure  Error for a missing, truncated or damaged file, another magic number or element type, dimensions that do
///          not match the data, unequal numbers of images and labels, a label beyond the model's classes
/// source   LeCun, Cortes, Burges, "The MNIST database", file formats
/// cost     one byte of memory per pixel, read at construction
class Idx final {
 public:
  Idx(const std::string& images, const std::string& labels);

  const std::string& name() const& { return content_->images.name; }
  std::string name() const&& { return name(); }
  /// Images in this set or range.
  std::size_t length() const { return end_ - begin_; }
  /// Extents of one image.
  std::span<const std::size_t> extents() const& { return std::span(content_->images.extents).subspan(1); }
  std::vector<std::size_t> extents() const&& {
    return {content_->images.extents.begin() + 1, content_->images.extents.end()};
  }
  /// Largest label of the whole file, plus one.
  std::size_t classes() const { return content_->classes; }
  std::int32_t label(std::size_t index) const { return content_->labels.data[begin_ + index]; }

  /// Samples [begin, end) of this set, sharing its memory.
  Idx range(std::size_t begin, std::size_t end) const;

  std::size_t size(const SampleShape& shape) const;

  template <std::floating_point In>
  void read(std::size_t index, Sample<In, std::int32_t> sample) const {
    const std::size_t pixels = content_->pixels;
    detail::expect_extents(name(), {sample.input.size(), sample.target.size()}, pixels, 1);
    detail::expect_index(name(), index, length());
    const std::uint8_t* image = content_->images.data.data() + (begin_ + index) * pixels;
    for (std::size_t i = 0; i < pixels; ++i) sample.input[i] = static_cast<In>(image[i]) / 255;
    sample.target[0] = label(index);
  }

 private:
  struct Content {
    detail::IdxContent images, labels;
    std::size_t pixels = 0, classes = 0;
  };

  std::shared_ptr<const Content> content_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/data/idx.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
