// regimen/data/augment.hpp — random changes of images, drawn from their keys.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/image.hpp>
#include <regimen/data/image_operations.hpp>
#include <regimen/data/resize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace regimen::data {

/// Random numbers of a key, one after the other. Functions that draw from the same key have different numbers `stage`.
class Draws final {
 public:
  Draws(const Key& key, std::uint64_t stage) : bits_(key.bits(stage)) {}
  /// In [0, 1).
  double unit() {
    const Philox::Words words = Philox::draw(bits_, drawn_++, 0);
    return double(std::uint64_t{words.word[0]} << 21 | words.word[1] >> 11) * 0x1p-53;
  }
  // std::fma, here and below: else a compiler's flags decide whether a product is rounded before it is added.
  double between(double least, double most) { return std::fma(most - least, unit(), least); }
  /// In [0, count).
  std::size_t below(std::size_t count) {
    return (std::min)(count - 1, static_cast<std::size_t>(unit() * double(count)));
  }

 private:
  std::uint64_t bits_, drawn_ = 0;
};

// ---- at random: function objects of an image and its key -----------------------------------------------------------
//
// Give two of one kind in one function different `stage`s. Different kinds never draw the same numbers.

/// A part of height x width at any place; with `padding`, of the image with this number of black pixels around it.
struct RandomCrop final {
  std::size_t height, width, padding = 0;
  std::uint64_t stage = 0;

  Image operator()(const Image& image, const Key& key) const {
    const std::size_t tall = image.height() + 2 * padding, wide = image.width() + 2 * padding;
    if (height == 0 || height > tall || width == 0 || width > wide)
      return crop(image, {0, 0, height, width});  // refuses
    Draws draws(key, Philox::mix(0xC0, stage));
    const std::size_t top = draws.below(tall - height + 1), left = draws.below(wide - width + 1);
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

/// A part at a random place, of random area and proportions, resized to one size: networks of ImageNet are trained with
/// it.
///
///   area    a share of the image's area, uniform from `least_area` to `most_area`
///   ratio   width / height, with a logarithm uniform between the logarithms of `least_ratio` and `most_ratio`. If ten
///           parts in a row do not fit, the largest part in the middle that has an allowed ratio
///
/// source   Szegedy et al. 2015, "Going deeper with convolutions", section 6; torchvision's RandomResizedCrop
struct RandomResizedCrop final {
  std::size_t height, width;
  double least_area = 0.08, most_area = 1, least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;
  Filter filter = Filter::Bilinear;
  std::uint64_t stage = 0;

  /// The part of an image of tall x wide.
  Box box(std::size_t tall, std::size_t wide, const Key& key) const;
  Image operator()(const Image& image, const Key& key) const {
    return resize(image, box(image.height(), image.width(), key), height, width, filter);
  }
};

/// Left and right exchanged, with a probability.   failure   Error for one that is not from 0 to 1
struct RandomFlip final {
  double probability = 0.5;
  std::uint64_t stage = 0;

  Image operator()(Image image, const Key& key) const {
    if (!(probability >= 0 && probability <= 1))
      throw Error("RandomFlip, probability", "a number from 0 to 1", regimen::detail::digits_of(probability));
    return Draws(key, Philox::mix(0xC2, stage)).unit() < probability ? flip(image) : image;
  }
};

/// Brightness, contrast and saturation by factors from 1 − x to 1 + x, but not below 0, hue by −x to x turns, in any
/// order.
/// failure   Error for a hue that is not from 0 to 0.5, or another number that is not from 0 to 63
/// source    torchvision's ColorJitter
struct ColorJitter final {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  std::uint64_t stage = 0;

  Image operator()(Image image, const Key& key) const {
    for (const double by : {brightness, contrast, saturation})
      if (!(by >= 0 && by <= 63))
        throw Error("ColorJitter", "a brightness, contrast and saturation from 0 to 63",
                    regimen::detail::digits_of(by));
    if (!(hue >= 0 && hue <= 0.5))
      throw Error("ColorJitter, hue", "a number from 0 to 0.5", regimen::detail::digits_of(hue));
    Draws draws(key, Philox::mix(0xC3, stage));
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
/// failure  Error for an image with alpha, whichever operations are drawn
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
    detail::expect_colours("RandAugment", image);  // some operations would do with alpha
    Draws draws(key, Philox::mix(0xC4, stage));
    for (std::size_t i = 0; i < count; ++i) {
      const auto operation = static_cast<Operation>(draws.below(operations));
      image = apply(std::move(image), operation, draws.unit() < 0.5);
    }
    return image;
  }
  /// One operation of this magnitude, with the drawn sign if the operation has a sign.
  Image apply(Image image, Operation operation, bool negative) const {
    if (magnitude > most) throw Error("RandAugment", "a magnitude from 0 to 30", std::to_string(magnitude));
    const double share = double(magnitude) / double(most), sign = negative ? -1 : 1,
                 factor = std::fma(sign * 0.9, share, 1.0);
    const double shear = sign * 0.3 * share;
    const auto moved = [&](std::size_t size) { return sign * std::floor(150.0 / 331 * double(size) * share); };
    using enum Operation;
    if (operation == ShearX) return affine(image, {1, shear, 0, 0, 1, 0});
    if (operation == ShearY) return affine(image, {1, 0, 0, shear, 1, 0});
    if (operation == TranslateX) return affine(image, {1, 0, -moved(image.width()), 0, 1, 0});
    if (operation == TranslateY) return affine(image, {1, 0, 0, 0, 1, -moved(image.height())});
    if (operation == Rotate) return rotate(image, sign * 30 * share);
    if (operation == Brightness) return brightness(std::move(image), factor);
    if (operation == Color) return saturation(std::move(image), factor);
    if (operation == Contrast) return contrast(std::move(image), factor);
    if (operation == Sharpness) return sharpness(std::move(image), factor);
    if (operation == Posterize) return posterize(std::move(image), 8 - int(std::lround(4 * share)));
    if (operation == Solarize) return solarize(std::move(image), 255 * (1 - share));
    if (operation == AutoContrast) return autocontrast(std::move(image));
    if (operation == Equalize) return equalize(std::move(image));
    return image;
  }
};

}  // namespace regimen::data

#if !REGIMEN_COMPILED
#include <regimen/data/augment.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
