// regimen/data/idx.ipp — the bodies of idx.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/idx.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace regimen::detail {

REGIMEN_INLINE GzipReader::GzipReader(const std::string& path) : path_(path) {
  OpenFile file = open_file(path);
  bytes_ = file.size;
  file_.reset(::gzdopen(*file.descriptor, "rb"));
  if (file_ == nullptr) throw Error(path, "memory for zlib", "none");
  file.descriptor.release();  // gzclose_r closes it
}

REGIMEN_INLINE std::size_t GzipReader::read(std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::size_t wanted = std::min<std::size_t>(to.size() - done, std::size_t{1} << 30);
    const int got = ::gzread(file_.get(), to.data() + done, static_cast<unsigned>(wanted));
    int code = Z_OK;
    const int system = errno;
    const std::string words = ::gzerror(file_.get(), &code);
    if (code == Z_ERRNO)
      throw Error(path_, "a file that can be read", system_words(system), "check the disk, or the network to it");
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw Error(path_, "gzip data, or a plain file", words, damaged);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

REGIMEN_INLINE std::size_t GzipReader::most() const {
  return ::gzdirect(file_.get()) != 0 ? ~std::size_t{0} : (std::max)(std::size_t{1} << 30, 32 * bytes_);
}

REGIMEN_INLINE IdxContent read_idx(const std::string& path, std::uint8_t type, std::size_t bytes_of_element,
                                   const char* type_name, const data::Report& report) {
  GzipReader file(path);
  IdxContent content{path, {}, {}};
  std::array<std::uint8_t, 4> word{};
  if (file.read(word) != 4)
    throw Error(path + ", header", "the 4 bytes of an IDX magic number", "a shorter file", GzipReader::damaged);
  if (word[0] != 0 || word[1] != 0 || word[2] != type || word[3] == 0) {
    std::string found;
    for (const std::uint8_t byte : word) {
      if (!found.empty()) found += ' ';
      found += std::to_string(byte);
    }
    throw Error(path + ", header",
                std::string("the IDX magic number of ") + type_name + ", 0 0 " + std::to_string(type) +
                    " and the number of dimensions",
                found, "is it an IDX file?");
  }
  std::size_t elements = bytes_of_element;  // in bytes
  for (int dimension = 0; dimension < word[3]; ++dimension) {
    std::array<std::uint8_t, 4> digits{};
    if (file.read(digits) != 4)
      throw Error(path + ", header", std::to_string(word[3]) + " dimensions", std::to_string(dimension),
                  GzipReader::damaged);
    const std::size_t extent =
        std::size_t{digits[0]} << 24 | std::size_t{digits[1]} << 16 | std::size_t{digits[2]} << 8 | digits[3];
    if (__builtin_mul_overflow(elements, extent, &elements)) {
      throw Error(path + ", header", "dimensions whose product fits 64 bits",
                  "dimension " + std::to_string(dimension) + " of " + std::to_string(extent), GzipReader::damaged);
    }
    content.extents.push_back(extent);
  }
  if (elements > file.most())
    throw Error(
        path + ", header",
        "at most " + std::to_string(file.most()) + " bytes of data in this gzip file: 1 GiB, or 32 times its size",
        std::to_string(elements), "is the file what it should be? then decompress it with gunzip");
  // Memory grows with the bytes in the file, not with the size that its header claims.
  constexpr std::size_t piece = std::size_t{1} << 20, most = std::size_t{1} << 24;
  while (content.data.size() < elements) {
    const std::size_t before = content.data.size(),
                      wanted = std::min<std::size_t>(elements - before, std::clamp<std::size_t>(before, piece, most));
    content.data.resize(before + wanted);
    const std::size_t got = file.read(std::span(content.data).subspan(before));
    if (got < wanted)
      throw Error(path, std::to_string(elements) + " bytes of data, as its header says", std::to_string(before + got),
                  GzipReader::damaged);
    if (report) report("reading an IDX file", content.data.size(), elements);
  }
  std::array<std::uint8_t, 1> more{};
  if (file.read(more) != 0)
    throw Error(path, std::to_string(elements) + " bytes of data, as its header says", "more", GzipReader::damaged);
  return content;
}

}  // namespace regimen::detail

namespace regimen {

REGIMEN_INLINE Idx::Idx(const std::string& images, const std::string& labels) {
  auto content = std::make_shared<Content>();
  content->images = detail::read_idx(images);
  content->labels = detail::read_idx(labels);
  const auto &shape = content->images.extents, &count = content->labels.extents;
  if (shape.size() < 2)
    throw Error(images, "images, of 2 dimensions or more", "1 dimension", "are images and labels exchanged?");
  if (count.size() != 1) {
    throw Error(labels, "labels, of 1 dimension", std::to_string(count.size()) + " dimensions",
                "are images and labels exchanged?");
  }
  if (shape[0] != count[0]) {
    throw Error(labels, std::to_string(shape[0]) + " labels, one for each image of " + images, std::to_string(count[0]),
                "give the two files of one set");
  }
  if (shape[0] == 0 || content->images.data.empty())
    throw Error(images, "images", "none", "give a file with images in it");
  content->pixels = content->images.data.size() / shape[0];
  for (const std::uint8_t label : content->labels.data)
    content->classes = std::max<std::size_t>(content->classes, std::size_t{label} + 1);
  end_ = shape[0];
  content_ = std::move(content);
}

REGIMEN_INLINE Idx Idx::range(std::size_t begin, std::size_t end) const {
  if (begin >= end || end > length()) {
    throw Error(name() + ", range", "begin < end <= " + std::to_string(length()),
                std::to_string(begin) + " to " + std::to_string(end));
  }
  Idx result = *this;
  result.begin_ = begin_ + begin;
  result.end_ = begin_ + end;
  return result;
}

REGIMEN_INLINE std::size_t Idx::size(const SampleShape& shape) const {
  detail::expect_extents(name(), shape, content_->pixels, 1);
  detail::expect_classes(content_->labels.name, shape.classes != 0 ? shape.classes : shape.vocabulary_or_classes,
                         classes());
  return length();
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
