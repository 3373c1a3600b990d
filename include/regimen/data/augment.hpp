// SPDX-License-Identifier: Apache-2.0
// regimen/data/augment.hpp — images changed at random, as their key says.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/image.hpp>
#include <regimen/data/resize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <span>
#include <string>
#include <utility>

namespace regimen::data {

/// Random numbers of a key, one after the other. `stage` tells apart those who draw from the same key.
class Draws final {
 public:
  Draws(const Key& key, std::uint64_t stage) : bits_(key.bits(stage)) {}
  /// In [0, 1).
  double unit() {
    const Philox::Words words = Philox::draw(bits_, drawn_++, 0);
    return double(std::uint64_t{words.word[0]} << 21 | words.word[1] >> 11) * 0x1p-53;
  }
  double between(double least, double most) { return least + (most - least) * unit(); }
  /// In [0, count).
  std::size_t below(std::size_t count) {
    return (std::min)(count - 1, static_cast<std::size_t>(unit() * double(count)));
  }

 private:
  std::uint64_t bits_, drawn_ = 0;
};

namespace detail {

inline void expect_colours(const char* who, const Image& image) {
  if (image.channels() != 1 && image.channels() != 3)
    throw Error(who, "a gray image, or red, green and blue", image.extents());
}
inline void expect_factor(const char* who, double factor) {
  if (!(factor >= 0 && factor <= 64)) throw Error(who, "a factor from 0 to 64", std::to_string(factor));
}

/// to + factor · (from − to), in 16 bits behind the point, rounded down and held in [0, 255].
constexpr std::uint8_t between(std::int32_t to, std::int32_t from, std::int32_t factor) {
  return static_cast<std::uint8_t>(std::clamp((to * 65536 + factor * (from - to)) >> 16, 0, 255));
}
inline std::int32_t fixed(double factor) { return static_cast<std::int32_t>(std::lround(factor * 65536)); }

/// Every byte of channel c becomes table[c][byte].
inline Image looked_up(Image image, const std::array<std::array<std::uint8_t, 256>, 3>& table) {
  const std::span<std::uint8_t> pixels = image.pixels();
  const std::size_t channels = image.channels();
  for (std::size_t i = 0; i < pixels.size(); i += channels)
    for (std::size_t c = 0; c < channels; ++c) pixels[i + c] = table[c][pixels[i + c]];
  return image;
}
inline std::array<std::array<std::uint32_t, 256>, 3> histogram(const Image& image) {
  std::array<std::array<std::uint32_t, 256>, 3> count{};
  const std::span<const std::uint8_t> pixels = image.pixels();
  for (std::size_t i = 0; i < pixels.size(); ++i) ++count[i % image.channels()][pixels[i]];
  return count;
}

}  // namespace detail

// ---- colours: gray images, or red, green and blue. Within 1 level of Pillow's ImageEnhance and ImageOps --------------

/// factor · pixel; 0: black, 1: as it is
inline Image brightness(Image image, double factor) {
  detail::expect_colours("brightness", image);
  detail::expect_factor("brightness", factor);
  const std::int32_t by = detail::fixed(factor);
  for (std::uint8_t& pixel : image.pixels()) pixel = detail::between(0, pixel, by);
  return image;
}

/// mean + factor · (pixel − mean), of the mean brightness of the image; 0: gray, 1: as it is
inline Image contrast(Image image, double factor) {
  detail::expect_colours("contrast", image);
  detail::expect_factor("contrast", factor);
  const std::span<std::uint8_t> pixels = image.pixels();
  const std::size_t channels = image.channels(), count = pixels.size() / channels;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels.size(); i += channels) sum += channels == 1 ? pixels[i] : luma(&pixels[i]);
  const auto mean = static_cast<std::int32_t>((2 * sum + count) / (2 * count));
  const std::int32_t by = detail::fixed(factor);
  for (std::uint8_t& pixel : pixels) pixel = detail::between(mean, pixel, by);
  return image;
}

/// gray + factor · (pixel − gray), of each pixel's own brightness; 0: without colour, 1: as it is
inline Image saturation(Image image, double factor) {
  detail::expect_colours("saturation", image);
  detail::expect_factor("saturation", factor);
  if (image.channels() == 1) return image;
  const std::int32_t by = detail::fixed(factor);
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
  if (!(turns >= -1 && turns <= 1)) throw Error("hue", "turns from -1 to 1", std::to_string(turns));
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
    const auto top = static_cast<std::uint8_t>(most), bottom = static_cast<std::uint8_t>(least);
    const auto rising = static_cast<std::uint8_t>(least + (range * rest + one / 2) / one);
    const auto falling = static_cast<std::uint8_t>(most - (range * rest + one / 2) / one);
    switch (at / one) {
      case 0:
        pixels[i] = top, pixels[i + 1] = rising, pixels[i + 2] = bottom;
        break;
      case 1:
        pixels[i] = falling, pixels[i + 1] = top, pixels[i + 2] = bottom;
        break;
      case 2:
        pixels[i] = bottom, pixels[i + 1] = top, pixels[i + 2] = rising;
        break;
      case 3:
        pixels[i] = bottom, pixels[i + 1] = falling, pixels[i + 2] = top;
        break;
      case 4:
        pixels[i] = rising, pixels[i + 1] = bottom, pixels[i + 2] = top;
        break;
      default:
        pixels[i] = top, pixels[i + 1] = bottom, pixels[i + 2] = falling;
    }
  }
  return image;
}

/// smooth + factor · (pixel − smooth), where smooth weights a pixel 5 and its eight neighbours 1; the border stays.
inline Image sharpness(Image image, double factor) {
  detail::expect_colours("sharpness", image);
  detail::expect_factor("sharpness", factor);
  const std::int32_t by = detail::fixed(factor);
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
  detail::expect_colours("autocontrast", image);
  const auto count = detail::histogram(image);
  std::array<std::array<std::uint8_t, 256>, 3> table{};
  for (std::size_t c = 0; c < 3; ++c) {
    int least = 0, most = 255;
    while (least < 255 && count[c][std::size_t(least)] == 0) ++least;
    while (most > 0 && count[c][std::size_t(most)] == 0) --most;
    for (int i = 0; i < 256; ++i)
      table[c][std::size_t(i)] =
          static_cast<std::uint8_t>(most <= least ? i : std::clamp((i - least) * 255 / (most - least), 0, 255));
  }
  return detail::looked_up(std::move(image), table);
}

/// Each channel with about as many pixels of each value.
inline Image equalize(Image image) {
  detail::expect_colours("equalize", image);
  const auto count = detail::histogram(image);
  std::array<std::array<std::uint8_t, 256>, 3> table{};
  for (std::size_t c = 0; c < 3; ++c) {
    std::uint32_t all = 0, last = 0;
    for (const std::uint32_t n : count[c])
      if (n != 0) all += n, last = n;
    const std::uint32_t step = (all - last) / 255;
    std::uint32_t before = step / 2;
    for (std::size_t i = 0; i < 256; ++i) {
      table[c][i] = static_cast<std::uint8_t>(step == 0 ? std::uint32_t(i) : (std::min)(before / step, 255u));
      before += count[c][i];
    }
  }
  return detail::looked_up(std::move(image), table);
}

/// Each pixel is the nearest of the image at (a x + b y + c, d x + e y + f), of the middles of pixels; black outside.
/// exact   in 16 bits behind the point, for sides up to 16384
inline Image affine(const Image& image, const std::array<double, 6>& matrix) {
  constexpr std::size_t most = 16384;
  if (image.height() > most || image.width() > most) throw Error("affine", "sides of at most 16384", image.extents());
  for (const double number : matrix)
    if (!(std::abs(number) <= 2 * double(most)))
      throw Error("affine", "numbers from -32768 to 32768", std::to_string(number));
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

/// Turned against the clock about its middle.
inline Image rotate(const Image& image, double degrees) {
  const double angle = degrees * (std::numbers::pi / 180), x = double(image.width()) / 2,
               y = double(image.height()) / 2;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  return affine(image, {cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y});
}

// ---- at random: function objects of an image and its key ---------------------------------------------------------------
//
// `stage` tells apart two of the same kind in one function; those of different kinds never draw the same numbers.

/// A part of height x width at any place; with `padding`, of the image with so many black pixels around it.
struct RandomCrop final {
  std::size_t height, width, padding = 0;
  std::uint64_t stage = 0;

  Image operator()(const Image& image, const Key& key) const {
    const std::size_t tall = image.height() + 2 * padding, wide = image.width() + 2 * padding;
    if (height > tall || width > wide) return crop(image, {0, 0, height, width});  // refuses
    Draws draws(key, mix(0xC0, stage));
    const std::size_t top = draws.below(tall - height + 1), left = draws.below(wide - width + 1);
    if (padding == 0) return crop(image, {top, left, height, width});
    Image result(height, width, image.channels());
    for (std::size_t y = 0; y < height; ++y) {
      if (top + y < padding || top + y >= padding + image.height()) continue;
      const std::size_t begin = (std::max)(left, padding), end = (std::min)(left + width, padding + image.width());
      if (begin < end)
        std::memcpy(result.row(y) + (begin - left) * image.channels(),
                    image.row(top + y - padding) + (begin - padding) * image.channels(),
                    (end - begin) * image.channels());
    }
    return result;
  }
};

/// A part of any place, area and proportions, in another size: how networks of ImageNet are trained.
///
///   area    shares of the image's, uniformly from `least_area` to `most_area`
///   ratio   width / height, its logarithm uniformly between those of `least_ratio` and `most_ratio`. If ten parts in a
///           row do not fit, the largest in the middle whose ratio is allowed
///
/// source   Szegedy et al. 2015, "Going deeper with convolutions", section 6; torchvision's RandomResizedCrop
struct RandomResizedCrop final {
  std::size_t height, width;
  double least_area = 0.08, most_area = 1, least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;
  Filter filter = Filter::Bilinear;
  std::uint64_t stage = 0;

  /// The part of an image of tall x wide.
  Box box(std::size_t tall, std::size_t wide, const Key& key) const {
    if (!(least_area > 0 && least_area <= most_area && most_area <= 1 && least_ratio > 0 && least_ratio <= most_ratio))
      throw Error("RandomResizedCrop", "0 < least_area <= most_area <= 1 and 0 < least_ratio <= most_ratio", "others");
    Draws draws(key, mix(0xC1, stage));
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double area = double(tall) * double(wide) * draws.between(least_area, most_area);
      const double ratio = std::exp(draws.between(std::log(least_ratio), std::log(most_ratio)));
      const auto h = static_cast<std::size_t>(std::lround(std::sqrt(area / ratio)));
      const auto w = static_cast<std::size_t>(std::lround(std::sqrt(area * ratio)));
      if (h == 0 || w == 0 || h > tall || w > wide) continue;
      const std::size_t top = draws.below(tall - h + 1), left = draws.below(wide - w + 1);
      return {top, left, h, w};
    }
    std::size_t h = tall, w = wide;
    const double ratio = double(wide) / double(tall);
    if (ratio < least_ratio)
      h = std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(double(wide) / least_ratio)), 1, tall);
    if (ratio > most_ratio)
      w = std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(double(tall) * most_ratio)), 1, wide);
    return {(tall - h) / 2, (wide - w) / 2, h, w};
  }
  Image operator()(const Image& image, const Key& key) const {
    return resize(image, box(image.height(), image.width(), key), height, width, filter);
  }
};

/// Left and right exchanged, with a probability.
struct RandomFlip final {
  double probability = 0.5;
  std::uint64_t stage = 0;

  Image operator()(Image image, const Key& key) const {
    return Draws(key, mix(0xC2, stage)).unit() < probability ? flip(image) : image;
  }
};

/// Brightness, contrast and saturation by factors from 1 − x to 1 + x, hue by −x to x turns, in any order.
/// source   torchvision's ColorJitter
struct ColorJitter final {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  std::uint64_t stage = 0;

  Image operator()(Image image, const Key& key) const {
    Draws draws(key, mix(0xC3, stage));
    std::array<int, 4> order{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[draws.below(i + 1)]);
    const auto factor = [&](double by) { return draws.between((std::max)(0.0, 1 - by), 1 + by); };
    const double light = factor(brightness), spread = factor(contrast), colour = factor(saturation),
                 turn = draws.between(-hue, hue);
    for (const int what : order) {
      if (what == 0 && brightness != 0) image = data::brightness(std::move(image), light);
      if (what == 1 && contrast != 0) image = data::contrast(std::move(image), spread);
      if (what == 2 && saturation != 0) image = data::saturation(std::move(image), colour);
      if (what == 3 && hue != 0) image = data::hue(std::move(image), turn);
    }
    return image;
  }
};

/// `count` operations of fourteen, drawn for each image, all of one magnitude.
///
///   magnitude   0 (hardly any change) to 30
///
/// source   Cubuk et al. 2019, "RandAugment"; operations, magnitudes and signs are those of torchvision's RandAugment
struct RandAugment final {
  std::size_t count = 2, magnitude = 9;
  std::uint64_t stage = 0;

  enum class Operation {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize
  };
  static constexpr std::size_t operations = 14, most = 30;

  Image operator()(Image image, const Key& key) const {
    Draws draws(key, mix(0xC4, stage));
    for (std::size_t i = 0; i < count; ++i) {
      const auto operation = static_cast<Operation>(draws.below(operations));
      image = apply(std::move(image), operation, draws.unit() < 0.5);
    }
    return image;
  }
  /// One operation of this magnitude, with its sign where it has one.
  Image apply(Image image, Operation operation, bool negative) const {
    if (magnitude > most) throw Error("RandAugment", "a magnitude from 0 to 30", std::to_string(magnitude));
    const double share = double(magnitude) / double(most), sign = negative ? -1 : 1, factor = 1 + sign * 0.9 * share;
    const double shear = sign * 0.3 * share;
    const auto moved = [&](std::size_t size) { return sign * std::floor(150.0 / 331 * double(size) * share); };
    switch (operation) {
      case Operation::ShearX:
        return affine(image, {1, shear, 0, 0, 1, 0});
      case Operation::ShearY:
        return affine(image, {1, 0, 0, shear, 1, 0});
      case Operation::TranslateX:
        return affine(image, {1, 0, -moved(image.width()), 0, 1, 0});
      case Operation::TranslateY:
        return affine(image, {1, 0, 0, 0, 1, -moved(image.height())});
      case Operation::Rotate:
        return rotate(image, sign * 30 * share);
      case Operation::Brightness:
        return brightness(std::move(image), factor);
      case Operation::Color:
        return saturation(std::move(image), factor);
      case Operation::Contrast:
        return contrast(std::move(image), factor);
      case Operation::Sharpness:
        return sharpness(std::move(image), factor);
      case Operation::Posterize:
        return posterize(std::move(image), 8 - int(std::lround(4 * share)));
      case Operation::Solarize:
        return solarize(std::move(image), 255 * (1 - share));
      case Operation::AutoContrast:
        return autocontrast(std::move(image));
      case Operation::Equalize:
        return equalize(std::move(image));
      default:
        return image;
    }
  }
};

}  // namespace regimen::data
