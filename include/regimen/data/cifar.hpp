// regimen/data/cifar.hpp — CIFAR-10 and CIFAR-100 in their binary version, and files of that format.
#pragma once

#include <regimen/data/dataset.hpp>
#include <regimen/data/indexed_files.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace regimen::data {

/// An image and its label.
struct CifarImage final {
  static constexpr std::size_t height = 32, width = 32, channels = 3, size = height * width * channels;

  std::array<std::uint8_t, size> pixels{};  // (H,W,C): rows, then columns, then red, green, blue
  std::uint8_t label = 0;                   // of 10 classes; of CIFAR-100 the fine label, of 100
  std::uint8_t coarse = 0;                  // of CIFAR-100 the superclass, of 20; else 0

  bool operator==(const CifarImage&) const = default;
};

/// The images of CIFAR-10 or CIFAR-100 from files of the binary version, in the order of the files.
///
///   format   for each image: the label (of CIFAR-100 the coarse label, then the fine one), a byte; then the red
///            values, row after row, the green ones and the blue ones, 3072 bytes
///   value    CifarImage, with the channels of a pixel side by side; owned, since the file is planar
///
///   data::Cifar train(data::Cifar::Ten, "cifar-10-batches-bin/data_batch_*.bin");
///   data::Cifar test(data::Cifar::Hundred, "cifar-100-binary/test.bin");
///
/// failure  Error for a file whose size is no whole number of images; in at(), with file and offset, for a label beyond
///          the classes; with Corrupt::Skip such images are left out and counted when opened. The format has no
///          checksum: a damaged pixel is not found
/// source   cs.toronto.edu/~kriz/cifar.html, "Binary version"
/// cost     mapped; a value is 3074 bytes, and 8 bytes of memory for each image. Opening reads only sizes, so it
///          reports no progress; with Corrupt::Skip it reads all labels
class Cifar final : public detail::IndexedReader<detail::IndexedFiles> {
 public:
  enum Kind : std::size_t { Ten = 1, Hundred = 2 };  // labels of an image

  Cifar(Kind kind, const Paths& paths, const ReaderOptions& options = {}) : kind_(kind) {
    auto files = std::make_shared<detail::IndexedFiles>(paths);
    for (const File& file : files->files) {
      const std::size_t bytes = file.map.bytes().size();
      if (bytes == 0 || bytes % record() != 0)
        throw Error(file.path, "a whole number of images of " + std::to_string(record()) + " bytes",
                    std::to_string(bytes) + " bytes",
                    kind == Ten ? "is it the binary version of CIFAR-10?" : "is it the binary version of CIFAR-100?");
    }
    const bool skips = options.corrupt == Corrupt::Skip;
    files->index(skips ? options.report : Report(), "checking labels", [&](const File& file, std::size_t offset) {
      const std::byte* const from = file.map.bytes().data() + offset;
      const auto below = [&](std::size_t at, unsigned bound) { return std::to_integer<unsigned>(from[at]) < bound; };
      if (!skips || (kind == Ten ? below(0, 10) : below(0, 20) && below(1, 100))) files->add(offset);
      else files->skip(record());
      return offset + record();
    });
    content_ = std::move(files);
  }

  std::size_t classes() const { return kind_ == Ten ? 10 : 100; }

  CifarImage at(const Key& key) const {
    if (key.index >= size())
      throw Error(name(), "an image below " + std::to_string(size()), "image " + std::to_string(key.index));
    const auto [file, offset] = content_->find(key.index);
    return decode(file, offset);
  }
  std::string place(const Key& key) const { return content_->find(key.index).by_offset(); }

 private:
  static constexpr std::size_t plane = CifarImage::height * CifarImage::width;

  std::size_t record() const { return kind_ + CifarImage::size; }

  CifarImage decode(const File& file, std::size_t offset) const {
    const std::byte* from = file.map.bytes().data() + offset;
    const auto label = [&](std::size_t at, unsigned bound, const char* what) {
      const auto value = std::to_integer<std::uint8_t>(from[at]);
      if (value >= bound)
        throw Error(detail::at_offset(file.path, offset + at), std::string(what) + " below " + std::to_string(bound),
                    std::to_string(value), "the file is damaged, or of the other CIFAR");
      return value;
    };
    CifarImage image;
    if (kind_ == Ten) image.label = label(0, 10, "a label");
    else image.coarse = label(0, 20, "a coarse label"), image.label = label(1, 100, "a fine label");
    from += kind_;
    for (std::size_t i = 0; i < plane; ++i)
      for (std::size_t c = 0; c < CifarImage::channels; ++c)
        image.pixels[i * CifarImage::channels + c] = std::to_integer<std::uint8_t>(from[c * plane + i]);
    return image;
  }

  Kind kind_;
};

/// Writes a file of the format that Cifar reads; it appears, whole, with commit().
class CifarWriter final {
 public:
  CifarWriter(Cifar::Kind kind, const std::string& path) : kind_(kind), file_(path) {}

  void write(const CifarImage& image) {
    const bool ten = kind_ == Cifar::Ten;
    if (image.label >= (ten ? 10 : 100) || image.coarse >= (ten ? 1 : 20))
      throw Error(file_.path(), ten ? "a label below 10, and no coarse one" : "labels below 100 and 20",
                  std::to_string(image.label) + " and " + std::to_string(image.coarse));
    std::array<std::byte, 2 + CifarImage::size> bytes{};
    constexpr std::size_t plane = CifarImage::height * CifarImage::width;
    bytes[0] = static_cast<std::byte>(ten ? image.label : image.coarse);
    if (!ten) bytes[1] = static_cast<std::byte>(image.label);
    for (std::size_t i = 0; i < CifarImage::size; ++i)
      bytes[kind_ + i % CifarImage::channels * plane + i / CifarImage::channels] =
          static_cast<std::byte>(image.pixels[i]);
    file_.put(std::span(bytes).first(kind_ + CifarImage::size));
  }
  void commit() { file_.commit(); }

 private:
  Cifar::Kind kind_;
  detail::FileWriter file_;
};

/// An image of class `index mod classes` that a model can learn: the class decides a wave of colour, and noise is
/// added. A pure function of its arguments; for tests and first programs without the real files.
inline CifarImage fake_cifar(Cifar::Kind kind, std::size_t index, std::uint64_t seed = 0) {
  CifarImage image;
  const std::size_t label = index % (kind == Cifar::Ten ? 10 : 100);
  image.label = static_cast<std::uint8_t>(label);
  if (kind == Cifar::Hundred) image.coarse = static_cast<std::uint8_t>(label / 5);
  for (std::size_t y = 0; y < CifarImage::height; ++y)
    for (std::size_t x = 0; x < CifarImage::width; ++x)
      for (std::size_t c = 0; c < CifarImage::channels; ++c) {
        const std::size_t at = (y * CifarImage::width + x) * CifarImage::channels + c;
        const std::size_t wave = (label % 10 + 1) * x + (label / 10 + 1) * y * (c + 1) + 11 * label * c;
        const std::size_t ramp = wave * 8 % 256, triangle = ramp < 128 ? ramp : 255 - ramp;  // 0 to 127
        image.pixels[at] = static_cast<std::uint8_t>(triangle + (Philox::mix(Philox::mix(seed, index), at) & 127));
      }
  return image;
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
