// regimen/data/resize.hpp — images of another size.
#pragma once

#include <regimen/core/printed.hpp>
#include <regimen/data/image.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace regimen::data {

/// The filter that computes a pixel between pixels.
///
///   Bilinear   a tent: 1 − |x| for |x| < 1
///   Bicubic    Keys' cubic with a = −1/2, for |x| < 2
enum class Filter { Bilinear, Bicubic };

namespace detail {

/// The pixels that an output pixel reads, and their weights, along one axis. All weights of a pixel sum to 2^22, so
/// that an even area stays as it is.
struct Taps {
  static constexpr int bits = 22;
  struct Run {
    std::size_t first, count, weights;  // weights: the place of the first in `weight`
  };
  std::vector<Run> runs;
  std::vector<std::int32_t> weight;

  Taps(std::size_t from, std::size_t to, Filter filter);
};

/// A pixel's byte, from a sum with 22 fractional bits.
constexpr std::int32_t half_level = std::int32_t{1} << 21;
constexpr std::uint8_t level_of(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int32_t>(sum >> 22, 0, 255));
}

/// A row with other columns, from a row of numbers with one more number after it.
template <std::size_t channels>
void resize_row(const std::int32_t* from, const Taps& taps, std::uint8_t* to) {
  constexpr std::size_t lanes = channels == 3 ? 4 : channels;  // four at once; the fourth is not used
  for (const Taps::Run& run : taps.runs) {
    std::int32_t sum[lanes];
    for (std::size_t c = 0; c < lanes; ++c) sum[c] = half_level;
    const std::int32_t* const weight = taps.weight.data() + run.weights;
    const std::int32_t* const pixel = from + run.first * channels;
    for (std::size_t k = 0; k < run.count; ++k)
      for (std::size_t c = 0; c < lanes; ++c) sum[c] += weight[k] * pixel[k * channels + c];
    for (std::size_t c = 0; c < channels; ++c) to[c] = level_of(sum[c]);
    to += channels;
  }
}

/// sum[i] = or += Σ_k weight[k] · row k [i].
inline void mix_rows(const std::uint8_t* from, std::size_t stride, const std::int32_t* weight, std::size_t count,
                     std::int32_t* sum, std::size_t size, bool begins) {
  if (begins)
    for (std::size_t i = 0; i < size; ++i) sum[i] = half_level + weight[0] * from[i];
  std::size_t k = begins ? 1 : 0;
  for (; k + 2 <= count; k += 2) {
    const std::uint8_t *const a = from + k * stride, *const b = a + stride;
    const std::int32_t u = weight[k], v = weight[k + 1];
    for (std::size_t i = 0; i < size; ++i) sum[i] += u * a[i] + v * b[i];
  }
  for (; k < count; ++k)
    for (std::size_t i = 0; i < size; ++i) sum[i] += weight[k] * from[k * stride + i];
}

/// The rows of a box with the columns of the result. At a time it has the rows that fit `memory` bytes: all rows of a
/// usual image.
class NarrowRows final {
 public:
  NarrowRows(const Image& image, const Box& box, const Taps& columns, std::size_t memory)
      : image_(image),
        box_(box),
        columns_(columns),
        channels_(image.channels()),
        stride_(columns.runs.size() * channels_),
        most_((std::min)(box.height, (std::max)(std::size_t{1}, memory / stride_))),
        wide_(box.width * channels_ + 1),
        rows_(most_ * stride_) {}

  std::size_t most() const { return most_; }
  std::size_t stride() const { return stride_; }
  /// Rows first to first + count − 1; count is at most most().
  const std::uint8_t* at(std::size_t first, std::size_t count) {
    if (first < begin_ || first + count > end_) {
      const bool goes_on = first >= begin_ && first < end_;
      const std::size_t kept = goes_on ? end_ - first : 0;
      if (goes_on) std::memmove(rows_.data(), rows_.data() + (first - begin_) * stride_, kept * stride_);
      begin_ = first;
      end_ = (std::min)(box_.height, first + most_);
      for (std::size_t y = first + kept; y < end_; ++y) make(y, rows_.data() + (y - begin_) * stride_);
    }
    return rows_.data() + (first - begin_) * stride_;
  }

 private:
  void make(std::size_t y, std::uint8_t* to) {
    std::copy_n(image_.row(box_.top + y) + box_.left * channels_, box_.width * channels_, wide_.data());
    constexpr decltype(&resize_row<1>) by_channels[] = {resize_row<1>, resize_row<2>, resize_row<3>, resize_row<4>};
    by_channels[channels_ - 1](wide_.data(), columns_, to);
  }

  const Image& image_;
  const Box& box_;
  const Taps& columns_;
  std::size_t channels_, stride_, most_, begin_ = 0, end_ = 0;  // begin_ to end_ − 1 are in rows_
  std::vector<std::int32_t> wide_;
  std::vector<std::uint8_t> rows_;
};

/// See resize().   memory   for rows of the box in the width of the result
inline Image resize_within(const Image& image, const Box& box, std::size_t height, std::size_t width, Filter filter,
                           std::size_t memory) {
  const Taps rows(box.height, height, filter), columns(box.width, width, filter);
  NarrowRows narrow(image, box, columns, memory);
  std::vector<std::int32_t> sum(narrow.stride());
  Image result(height, width, image.channels());
  for (std::size_t y = 0; y < height; ++y) {
    const Taps::Run& run = rows.runs[y];
    const std::int32_t* const weight = rows.weight.data() + run.weights;
    for (std::size_t done = 0; done < run.count;) {
      const std::size_t some = (std::min)(run.count - done, narrow.most());
      mix_rows(narrow.at(run.first + done, some), narrow.stride(), weight + done, some, sum.data(), sum.size(),
               done == 0);
      done += some;
    }
    std::uint8_t* const to = result.row(y);
    for (std::size_t i = 0; i < sum.size(); ++i) to[i] = level_of(sum[i]);
  }
  return result;
}

}  // namespace detail

/// The part `box` of an image in another size. An output pixel is the mean of the box's pixels, weighted by the filter.
/// The filter becomes wider by the factor by which the image becomes smaller (antialiasing). At the border only pixels
/// inside count.
///
/// error    within 1 level of torchvision's antialiased resize, and of Pillow's if Pillow goes along rows first
///          (docs/data_images.md). All arithmetic is on integers, so every machine gives the same bits: a first pass
///          goes along rows and rounds to levels, a second goes along columns; weights have 22 bits
/// failure  Error if the box is not inside the image, or a size is 0 or above 65536
/// source   Keys 1981 for the cubic; Heckbert 1989, section 3.5, for separable filters of resampling
/// cost     box.height · width · taps + height · width · taps multiplications a channel, taps = 2 · reach · reduction;
///          the first product counts up to 8 times, if the rows that a pixel of the result reads take more than 16 MiB
///          in the result's width
/// memory   in addition to the result at most 16 MiB, and for each pixel of the box's sides 4 · (channels + 2 · reach)
///          bytes
inline Image resize(const Image& image, const Box& box, std::size_t height, std::size_t width,
                    Filter filter = Filter::Bilinear) {
  constexpr std::size_t most = 65536;
  if (height == 0 || width == 0 || height > most || width > most)
    throw Error("resize", "a height and a width from 1 to 65536",
                std::to_string(height) + " x " + std::to_string(width));
  detail::expect_inside("resize", image.height(), image.width(), box, "choose another part");
  return detail::resize_within(image, box, height, width, filter, std::size_t{1} << 24);
}

/// A whole image in another size.
inline Image resize(const Image& image, std::size_t height, std::size_t width, Filter filter = Filter::Bilinear) {
  return resize(image, {0, 0, image.height(), image.width()}, height, width, filter);
}

/// The largest part in the middle of an image of tall x wide that has the proportions of height x width, times `share`:
/// middle(h, w, 224, 224, 0.875) is the part of an image that Resize(256) and CenterCrop(224) keep.
inline Box middle(std::size_t tall, std::size_t wide, std::size_t height, std::size_t width, double share = 1) {
  if (tall == 0 || wide == 0 || height == 0 || width == 0 || !(share > 0 && share <= 1))
    throw Error("middle", "sides of at least 1, and a share above 0 and up to 1", regimen::detail::digits_of(share));
  const double scale = share * (std::min)(double(tall) / double(height), double(wide) / double(width));
  const auto side = [&](std::size_t size, std::size_t most) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(scale * double(size))), 1, most);
  };
  const std::size_t h = side(height, tall), w = side(width, wide);
  return {(tall - h) / 2, (wide - w) / 2, h, w};
}

/// An image whose shorter side is `side`, with the proportions of `image`; the longer side is rounded down.
inline Image resize_shorter(const Image& image, std::size_t side, Filter filter = Filter::Bilinear) {
  const std::size_t shorter = (std::min)(image.height(), image.width());
  if (shorter == 0) throw Error("resize_shorter", "an image", "one without pixels");
  return resize(image, image.height() * side / shorter, image.width() * side / shorter, filter);
}

}  // namespace regimen::data

#if !REGIMEN_COMPILED
#include <regimen/data/resize.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
