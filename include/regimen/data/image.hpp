// regimen/data/image.hpp — an image in memory, and its numbers for a model.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// A part of an image, in pixels.
struct Box final {
  std::size_t top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Box&) const = default;
};

/// An image: pixels row by row, channels innermost, one byte each. It owns its pixels; pixels() of a temporary moves
/// them out: `read_image(path).pixels()` is a vector.
///
///   channels   1: gray, 2: gray and alpha, 3: red, green, blue, 4: these and alpha
///
/// failure  Error for other numbers of channels, extents of 0, or pixels that are not height · width · channels
class Image final {
 public:
  Image() = default;
  /// All bytes are 0.
  Image(std::size_t height, std::size_t width, std::size_t channels)
      : height_(height), width_(width), channels_(channels), pixels_(count(height, width, channels)) {}
  Image(std::size_t height, std::size_t width, std::size_t channels, std::vector<std::uint8_t> pixels)
      : height_(height), width_(width), channels_(channels), pixels_(std::move(pixels)) {
    if (const std::size_t expected = count(height, width, channels); pixels_.size() != expected)
      throw Error("Image", regimen::detail::counted(expected, "byte") + " of pixels", std::to_string(pixels_.size()));
  }

  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }
  std::size_t channels() const { return channels_; }
  std::span<const std::uint8_t> pixels() const& { return pixels_; }
  std::span<std::uint8_t> pixels() & { return pixels_; }
  std::vector<std::uint8_t> pixels() && { return std::move(pixels_); }
  std::vector<std::uint8_t> pixels() const&& { return pixels_; }
  const std::uint8_t* row(std::size_t y) const& { return pixels_.data() + y * width_ * channels_; }
  std::uint8_t* row(std::size_t y) & { return pixels_.data() + y * width_ * channels_; }
  std::vector<std::uint8_t> row(std::size_t y) const&& { return {row(y), row(y) + width_ * channels_}; }
  bool operator==(const Image&) const = default;
  /// The bytes that it owns, in addition to sizeof, for data::Cache.
  std::size_t bytes() const { return pixels_.capacity(); }

  /// "375 x 500 x 3": height, width, channels.
  std::string extents() const {
    return std::to_string(height_) + " x " + std::to_string(width_) + " x " + std::to_string(channels_);
  }

 private:
  static std::size_t count(std::size_t height, std::size_t width, std::size_t channels) {
    std::size_t bytes = 0;
    if (channels < 1 || channels > 4) throw Error("Image", "1 to 4 channels", std::to_string(channels));
    if (height == 0 || width == 0 || __builtin_mul_overflow(height, width, &bytes) ||
        __builtin_mul_overflow(bytes, channels, &bytes))
      throw Error("Image", "a height and a width of at least 1, which fit memory",
                  std::to_string(height) + " x " + std::to_string(width));
    return bytes;
  }

  std::size_t height_ = 0, width_ = 0, channels_ = 0;
  std::vector<std::uint8_t> pixels_;
};

/// An image and its class.
struct LabelledImage final {
  Image image;
  std::int32_t label = 0;

  std::size_t bytes() const { return image.bytes(); }
};

namespace detail {

inline void expect_colours(const char* who, const Image& image) {
  if (image.channels() != 1 && image.channels() != 3)
    throw Error(who, "a gray image, or red, green and blue", image.extents());
}

/// Refuses a box that is empty, or not inside an image of that size.
inline void expect_inside(const std::string& where, std::size_t height, std::size_t width, const Box& box,
                          const char* cure) {
  if (box.height == 0 || box.width == 0 || box.top > height || box.height > height - box.top || box.left > width ||
      box.width > width - box.left)
    throw Error(where, "a box inside the image of " + std::to_string(height) + " x " + std::to_string(width),
                std::to_string(box.height) + " x " + std::to_string(box.width) + " at " + std::to_string(box.top) +
                    ", " + std::to_string(box.left),
                cure);
}

}  // namespace detail

/// The part `box` of an image.
/// failure  Error if the box is empty or not inside the image
inline Image crop(const Image& image, const Box& box) {
  detail::expect_inside("crop", image.height(), image.width(), box, "resize the image first");
  Image result(box.height, box.width, image.channels());
  for (std::size_t y = 0; y < box.height; ++y)
    std::memcpy(result.row(y), image.row(box.top + y) + box.left * image.channels(), box.width * image.channels());
  return result;
}

/// The middle of an image; if the border is odd, the smaller half is above and left.
inline Image center_crop(const Image& image, std::size_t height, std::size_t width) {
  if (height > image.height() || width > image.width()) return crop(image, {0, 0, height, width});  // refuses
  return crop(image, {(image.height() - height) / 2, (image.width() - width) / 2, height, width});
}

/// An image with left and right exchanged.
inline Image flip(const Image& image) {
  Image result(image.height(), image.width(), image.channels());
  const std::size_t channels = image.channels(), width = image.width();
  for (std::size_t y = 0; y < image.height(); ++y) {
    const std::uint8_t* from = image.row(y) + (width - 1) * channels;
    std::uint8_t* to = result.row(y);
    for (std::size_t x = 0; x < width; ++x, from -= channels, to += channels)
      for (std::size_t c = 0; c < channels; ++c) to[c] = from[c];
  }
  return result;
}

/// The brightness of a red, a green and a blue byte; a pixel of a gray image is such a brightness.
/// source   ITU-R BT.601: (19595 r + 38470 g + 7471 b) / 65536, rounded
constexpr std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

/// Red, green and blue as one channel, by `luma`.
inline Image to_gray(const Image& image) {
  if (image.channels() != 3) throw Error("to_gray", "an image of red, green and blue", image.extents());
  Image result(image.height(), image.width(), 1);
  for (std::size_t i = 0; i < result.pixels().size(); ++i) result.pixels()[i] = luma(image.pixels().data() + 3 * i);
  return result;
}

/// The numbers of an image for a model: (pixel / 255 − mean) / deviation, channel by channel.
///
///   mean, deviation   for gray images only the first number of each counts. The defaults are the numbers of ImageNet,
///                     with which published models were trained
///
///   data::Normalise{}(image, sample.input);
///
///   height, width     of the model's images. 0: they are not checked, so an image of 2 x 4 passes for one of 4 x 2
///
/// failure  Error if the model takes another number of numbers, the image has alpha or other extents than given, or a
///          deviation is not above 0
/// cost     one multiplication and addition a number. A pipeline of images moves a quarter of the bytes of a pipeline
///          of floats: normalise last
struct Normalise final {
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  std::size_t height = 0, width = 0;

  void operator()(const Image& image, std::span<float> to) const;
  void operator()(const Image& image, std::span<double> to) const;
};

}  // namespace regimen::data

#if !REGIMEN_COMPILED
#include <regimen/data/image.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
