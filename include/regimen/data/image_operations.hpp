// regimen/data/image_operations.hpp — operations on an image's colours, and on its pixels' places.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/image.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace regimen::data {

namespace detail {

/// The factor of an operation on an image's colours, with 16 fractional bits.
inline std::int32_t factor_of_colours(const char* who, const Image& image, double factor) {
  expect_colours(who, image);
  if (!(factor >= 0 && factor <= 64)) throw Error(who, "a factor from 0 to 64", regimen::detail::digits_of(factor));
  return static_cast<std::int32_t>(std::lround(factor * 65536));
}

/// to + factor · (from − to), with 16 fractional bits, rounded down and held in [0, 255].
constexpr std::uint8_t between(std::int32_t to, std::int32_t from, std::int32_t factor) {
  return static_cast<std::uint8_t>(std::clamp((to * 65536 + factor * (from - to)) >> 16, 0, 255));
}

/// Every byte of a channel becomes table[byte]; fill(count, table) makes it of the numbers of pixels of each byte.
template <class Fill>
Image by_channel(const char* who, Image image, const Fill& fill) {
  expect_colours(who, image);
  const std::span<std::uint8_t> pixels = image.pixels();
  for (std::size_t c = 0; c < image.channels(); ++c) {
    std::array<std::uint32_t, 256> count{};
    std::array<std::uint8_t, 256> table{};
    for (std::size_t i = c; i < pixels.size(); i += image.channels()) ++count[pixels[i]];
    fill(count, table);
    for (std::size_t i = c; i < pixels.size(); i += image.channels()) pixels[i] = table[pixels[i]];
  }
  return image;
}

}  // namespace detail

// ---- colours: gray images, or red, green and blue. Within 1 level of Pillow's ImageEnhance and ImageOps -------------

/// factor · pixel. 0: black, 1: unchanged
inline Image brightness(Image image, double factor) {
  const std::int32_t by = detail::factor_of_colours("brightness", image, factor);
  for (std::uint8_t& pixel : image.pixels()) pixel = detail::between(0, pixel, by);
  return image;
}

/// mean + factor · (pixel − mean), with the mean brightness of the image. 0: gray, 1: unchanged
inline Image contrast(Image image, double factor) {
  const std::int32_t by = detail::factor_of_colours("contrast", image, factor);
  const std::span<std::uint8_t> pixels = image.pixels();
  const std::size_t channels = image.channels(), count = pixels.size() / channels;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels.size(); i += channels) sum += channels == 1 ? pixels[i] : luma(&pixels[i]);
  const auto mean = static_cast<std::int32_t>((2 * sum + count) / (2 * count));
  for (std::uint8_t& pixel : pixels) pixel = detail::between(mean, pixel, by);
  return image;
}

/// gray + factor · (pixel − gray), with each pixel's own brightness. 0: without colour, 1: unchanged
inline Image saturation(Image image, double factor) {
  const std::int32_t by = detail::factor_of_colours("saturation", image, factor);
  if (image.channels() == 1) return image;
  const std::span<std::uint8_t> pixels = image.pixels();
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::uint8_t gray = luma(&pixels[i]);
    for (std::size_t c = 0; c < 3; ++c) pixels[i + c] = detail::between(gray, pixels[i + c], by);
  }
  return image;
}

/// Colours turned on the circle of hues (HSV); lightness and saturation stay.
///
///   turns   of the circle, in [−1, 1]: 1/3 makes red green
inline Image hue(Image image, double turns) {
  detail::expect_colours("hue", image);
  if (!(turns >= -1 && turns <= 1)) throw Error("hue", "turns from -1 to 1", regimen::detail::digits_of(turns));
  if (image.channels() == 1) return image;
  constexpr std::int32_t one = 65536, circle = 6 * one;  // a sixth of the circle is `one`
  const std::int32_t by = static_cast<std::int32_t>(std::lround((turns < 0 ? turns + 1 : turns) * circle));
  const std::span<std::uint8_t> pixels = image.pixels();
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::int32_t r = pixels[i], g = pixels[i + 1], b = pixels[i + 2];
    const std::int32_t most = (std::max)({r, g, b}), least = (std::min)({r, g, b}), range = most - least;
    if (range == 0) continue;
    std::int32_t at = r == most   ? (g - b) * one / range
                      : g == most ? 2 * one + (b - r) * one / range
                                  : 4 * one + (r - g) * one / range;
    at = (at + by + circle) % circle;
    const std::int32_t rest = at % one;
    const std::int32_t climb = (range * rest + one / 2) / one;
    // In each sixth of the circle one colour is at the top, one at the bottom, and one rises or falls between them.
    enum Level { Top, Bottom, Rising, Falling };
    static constexpr Level levels[6][3] = {{Top, Rising, Bottom},  {Falling, Top, Bottom}, {Bottom, Top, Rising},
                                           {Bottom, Falling, Top}, {Rising, Bottom, Top},  {Top, Bottom, Falling}};
    const std::int32_t byte_of[] = {most, least, least + climb, most - climb};
    for (std::size_t c = 0; c < 3; ++c) pixels[i + c] = static_cast<std::uint8_t>(byte_of[levels[at / one][c]]);
  }
  return image;
}

/// smooth + factor · (pixel − smooth); smooth is the mean of a pixel with weight 5 and its eight neighbours with weight
/// 1. The border stays.
inline Image sharpness(Image image, double factor) {
  const std::int32_t by = detail::factor_of_colours("sharpness", image, factor);
  const Image old = image;
  const std::size_t channels = image.channels(), row = image.width() * channels;
  for (std::size_t y = 1; y + 1 < image.height(); ++y)
    for (std::size_t x = channels; x + channels < row; ++x) {
      const std::uint8_t *const here = old.row(y) + x, *const above = here - row, *const below = here + row;
      const int sum = 5 * *here + *(here - channels) + here[channels] + *(above - channels) + *above + above[channels] +
                      *(below - channels) + *below + below[channels];
      image.row(y)[x] = detail::between((2 * sum + 13) / 26, *here, by);
    }
  return image;
}

/// The upper `bits` bits of each byte, 0 to 8.
inline Image posterize(Image image, int bits) {
  detail::expect_colours("posterize", image);
  if (bits < 0 || bits > 8) throw Error("posterize", "0 to 8 bits", std::to_string(bits));
  const auto mask = static_cast<std::uint8_t>(0xFF00u >> bits);
  for (std::uint8_t& pixel : image.pixels()) pixel &= mask;
  return image;
}

/// 255 − pixel, where a pixel is at least the threshold.
inline Image solarize(Image image, double threshold) {
  detail::expect_colours("solarize", image);
  for (std::uint8_t& pixel : image.pixels())
    if (double(pixel) >= threshold) pixel = static_cast<std::uint8_t>(255 - pixel);
  return image;
}

/// Each channel stretched from its least and largest value to 0 and 255.
inline Image autocontrast(Image image) {
  return detail::by_channel("autocontrast", std::move(image), [](const auto& count, auto& table) {
    int least = 0, most = 255;
    while (least < 255 && count[std::size_t(least)] == 0) ++least;
    while (most > 0 && count[std::size_t(most)] == 0) --most;
    for (int i = 0; i < 256; ++i)
      table[std::size_t(i)] =
          static_cast<std::uint8_t>(most <= least ? i : std::clamp((i - least) * 255 / (most - least), 0, 255));
  });
}

/// Each channel with about as many pixels of each value.
inline Image equalize(Image image) {
  return detail::by_channel("equalize", std::move(image), [](const auto& count, auto& table) {
    std::uint32_t all = 0, last = 0;
    for (const std::uint32_t n : count)
      if (n != 0) all += n, last = n;
    const std::uint32_t step = (all - last) / 255;
    std::uint32_t before = step / 2;
    for (std::size_t i = 0; i < 256; ++i) {
      table[i] = static_cast<std::uint8_t>(step == 0 ? std::uint32_t(i) : (std::min)(before / step, 255u));
      before += count[i];
    }
  });
}

/// Each pixel is the pixel of the image nearest to (a x + b y + c, d x + e y + f), where x and y are the middles of
/// pixels; black outside.
/// exact   in fixed point with 16 fractional bits, for sides up to 16384
inline Image affine(const Image& image, const std::array<double, 6>& matrix) {
  constexpr std::size_t most = 16384;
  if (image.height() > most || image.width() > most) throw Error("affine", "sides of at most 16384", image.extents());
  for (const double number : matrix)
    if (!(std::abs(number) <= 2 * double(most)))
      throw Error("affine", "numbers from -32768 to 32768", regimen::detail::digits_of(number));
  const auto fixed = [](double value) { return static_cast<std::int64_t>(std::floor(value * 65536 + 0.5)); };
  const std::int64_t a = fixed(matrix[0]), b = fixed(matrix[1]), d = fixed(matrix[3]), e = fixed(matrix[4]);
  const std::int64_t c = fixed(matrix[2] + (matrix[0] + matrix[1]) / 2),
                     f = fixed(matrix[5] + (matrix[3] + matrix[4]) / 2);
  Image result(image.height(), image.width(), image.channels());
  const std::size_t channels = image.channels();
  for (std::size_t y = 0; y < image.height(); ++y) {
    std::uint8_t* to = result.row(y);
    for (std::size_t x = 0; x < image.width(); ++x, to += channels) {
      const std::int64_t from_x = (c + a * std::int64_t(x) + b * std::int64_t(y)) >> 16,
                         from_y = (f + d * std::int64_t(x) + e * std::int64_t(y)) >> 16;
      if (from_x < 0 || from_y < 0 || from_x >= std::int64_t(image.width()) || from_y >= std::int64_t(image.height()))
        continue;
      std::memcpy(to, image.row(std::size_t(from_y)) + std::size_t(from_x) * channels, channels);
    }
  }
  return result;
}

/// Turned counter-clockwise about its middle.
Image rotate(const Image& image, double degrees);

}  // namespace regimen::data

#if !REGIMEN_COMPILED
#include <regimen/data/image_operations.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
