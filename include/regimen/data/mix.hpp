// regimen/data/mix.hpp — an image of two: mixup and CutMix, with targets that are shares of classes.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/augment.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/image.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/data/stage.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

/// An image, and the share of each class in it: a target of SoftCrossEntropy. The shares sum to 1.
struct MixedImage final {
  Image image;
  std::vector<float> target;

  std::size_t bytes() const { return image.bytes() + target.capacity() * sizeof(float); }
};

namespace detail {

/// Of the distribution Beta(alpha, alpha), in [0, 1].
/// source   Marsaglia, Tsang 2000, "A simple method for generating gamma variables"
double beta(Draws& draws, double alpha);

inline void expect_pair(const LabelledImage& a, const LabelledImage& b, std::size_t classes) {
  if (a.image.height() != b.image.height() || a.image.width() != b.image.width() ||
      a.image.channels() != b.image.channels())
    throw Error("mix", "two images of one size, here " + a.image.extents(), b.image.extents(),
                "resize them before they are mixed");
  for (const std::int32_t label : {a.label, b.label})
    if (label < 0 || std::size_t(label) >= classes)
      throw Error("mix", "classes below " + std::to_string(classes), std::to_string(label),
                  "give the number of classes of the data");
}
inline std::vector<float> shares(const LabelledImage& a, const LabelledImage& b, double share, std::size_t classes) {
  std::vector<float> target(classes);
  target[std::size_t(a.label)] = static_cast<float>(share);
  target[std::size_t(b.label)] += static_cast<float>(1 - share);
  return target;
}

}  // namespace detail

/// share · a + (1 − share) · b, pixel by pixel, rounded to a level.
inline MixedImage blend(LabelledImage a, const LabelledImage& b, double share, std::size_t classes) {
  detail::expect_pair(a, b, classes);
  if (!(share >= 0 && share <= 1)) throw Error("blend", "a share from 0 to 1", regimen::detail::digits_of(share));
  const auto of_a = static_cast<std::uint32_t>(std::lround(share * 65536)), of_b = 65536 - of_a;
  const std::span<std::uint8_t> to = a.image.pixels();
  const std::span<const std::uint8_t> other = b.image.pixels();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::uint8_t>((of_a * to[i] + of_b * other[i] + 32768) >> 16);
  return {std::move(a.image), detail::shares(a, b, share, classes)};
}

/// a with the part `box` of b in its place. A class has the share of its area.
inline MixedImage paste(LabelledImage a, const LabelledImage& b, const Box& box, std::size_t classes) {
  detail::expect_pair(a, b, classes);
  const std::size_t height = a.image.height(), width = a.image.width(), channels = a.image.channels();
  if (box.height > height || box.width > width || box.top > height - box.height || box.left > width - box.width)
    crop(a.image, box);  // refuses
  const double share = 1 - double(box.height * box.width) / double(height * width);
  for (std::size_t y = box.top; y < box.top + box.height; ++y)
    std::memcpy(a.image.row(y) + box.left * channels, b.image.row(y) + box.left * channels, box.width * channels);
  return {std::move(a.image), detail::shares(a, b, share, classes)};
}

/// An image blended with another image of the dataset; the share is drawn from Beta(alpha, alpha).
/// source   Zhang et al. 2018, "mixup: Beyond empirical risk minimization"
struct Mixup final {
  std::size_t classes;
  double alpha = 0.2;

  MixedImage operator()(LabelledImage a, const LabelledImage& b, Draws& draws) const {
    return blend(std::move(a), b, detail::beta(draws, alpha), classes);
  }
};

/// An image with a rectangle of another image of the dataset. The area of the rectangle is 1 − a share drawn from
/// Beta(alpha, alpha), without the part that would lie outside the image.
/// source   Yun et al. 2019, "CutMix: Regularization strategy to train strong classifiers with localizable features"
struct CutMix final {
  std::size_t classes;
  double alpha = 1;

  MixedImage operator()(LabelledImage a, const LabelledImage& b, Draws& draws) const {
    const double side = std::sqrt(1 - detail::beta(draws, alpha));
    const auto [top, height] = cut(a.image.height(), side, draws);
    const auto [left, width] = cut(a.image.width(), side, draws);
    return paste(std::move(a), b, {top, left, height, width}, classes);
  }

 private:
  static std::pair<std::size_t, std::size_t> cut(std::size_t size, double side, Draws& draws) {
    const auto half = static_cast<std::size_t>(double(size) * side / 2), middle = draws.below(size);
    const std::size_t begin = middle < half ? 0 : middle - half, end = (std::min)(size, middle + half);
    return {begin, end - begin};
  }
};

/// See mixed().
template <Dataset D, class How>
class Mix final : public detail::ValueStage<D> {
 public:
  static constexpr bool varies = true;

  Mix(D dataset, How how) : detail::ValueStage<D>(std::move(dataset), "mixed"), how_(std::move(how)) {}
  MixedImage at(const Key& key) const {
    Draws draws(this->own(key), 0xC5);
    LabelledImage first = detail::Underlying<D>::at(key);
    const LabelledImage second = detail::Underlying<D>::at({draws.below(this->size()), key.epoch, key.seed});
    return this->work(key, [&] { return how_(std::move(first), second, draws); });
  }

 private:
  How how_;
};

/// Mixes each image with another one of the dataset, which is drawn again in every epoch. All images have one size.
///
///   how   Mixup or CutMix
///
///   folder | data::map(decode_and_augment) | data::mixed(data::Mixup{.classes = 10}) | data::samples(write)
///
/// cost   reads two images of the dataset for each
template <class How>
  requires(!Dataset<How>)
auto mixed(How how) {
  return detail::Pipe{[how]<class D>(D dataset) {
    constexpr bool is_image = std::is_convertible_v<value_of<D>, LabelledImage>;
    static_assert(sizeof(typename rule::mixed_takes_images<value_of<D>, is_image>::must_hold));
    if constexpr (is_image) return Mix<D, How>(std::move(dataset), how);
    else return dataset;
  }};
}
template <class D, class How>
auto mixed(D dataset, How how) {
  return std::move(dataset) | mixed(std::move(how));
}

}  // namespace regimen::data

#if !REGIMEN_COMPILED
#include <regimen/data/mix.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
