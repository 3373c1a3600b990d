// regimen/data/samples.hpp — a dataset as a trainer's source, and functions that write samples.
#pragma once

#include <regimen/core/printed.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/data/source.hpp>
#include <regimen/data/stage.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::data {

/// See samples().
template <class D, class Write>
class Samples final : public detail::ValueStage<D> {
 public:
  Samples(D dataset, Write write) : detail::ValueStage<D>(std::move(dataset), "samples"), write_(std::move(write)) {}

  std::string name() const { return detail::Underlying<D>::name(); }
  std::size_t size(const SampleShape& shape) const {
    if constexpr (requires { write_.check(name(), shape); }) write_.check(name(), shape);
    return detail::Underlying<D>::size();
  }
  template <class In, class Label>
  void read(const Key& key, Sample<In, Label> sample) const {
    using Fits = rule::writer_takes_sample<Write, D, Sample<In, Label>>;
    static_assert(sizeof(typename Fits::must_hold));
    if constexpr (Fits::holds) {
      decltype(auto) value = detail::Underlying<D>::at(key);
      this->work(key, [&] {
        if constexpr (Fits::alone) write_(static_cast<decltype(value)&&>(value), sample);
        else write_(static_cast<decltype(value)&&>(value), sample, this->own(key));
      });
    }
  }

 private:
  Write write_;
};

/// A dataset as a source for fit, evaluate and Loader: `write` puts each value into a sample of the model.
///
///   write   write(value, sample), or write(value, sample, const Key&) to draw random numbers: const, and called from
///           several threads. `sample` is a Sample<Trainer::Input, Trainer::Label>, whose spans have the model's
///           extents; write all of it (put() checks extents). `write` may have check(name, shape) const, to refuse a
///           model
///
///   const auto images = records | data::map(decode);
///   trainer.fit(images | data::samples([](const Image& image, Sample<float, std::int32_t> sample) {
///     data::put(sample.input, image.pixels);
///     data::put(sample.target, image.label);
///   }), {.epochs = 5});
template <class Write>
  requires(!Dataset<Write>)
auto samples(Write write) {
  return detail::Pipe{
      [write = std::move(write)]<class D>(D dataset) { return Samples<D, Write>(std::move(dataset), write); }};
}
template <class D, class Write>
auto samples(D dataset, Write write) {
  return std::move(dataset) | samples(std::move(write));
}

namespace detail {

/// A number of a value as a T; a whole number must be exact.
template <class T, class Value>
T put_number(const Value& value) {
  if constexpr (std::is_integral_v<T> && std::is_arithmetic_v<Value>) {
    bool fits = true;
    if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) fits = std::in_range<T>(value);
    else if constexpr (std::is_floating_point_v<Value>)
      fits = value >= static_cast<Value>((std::numeric_limits<T>::min)()) &&
             value < std::ldexp(Value{1}, std::numeric_limits<T>::digits) && value == std::trunc(value);
    if (!fits)
      throw Error("put", "a whole number that " + std::to_string(8 * sizeof(T)) + " bits hold, as the model takes",
                  std::to_string(value));
  }
  return static_cast<T>(value);
}

}  // namespace detail

/// Writes numbers, converted to the type of `to`, to a span or an array of the same size: a sample's input or target,
/// or a value of a Bundle. Or writes a single number.
///   failure   Error for another size, and for a number that an integer type of `to` cannot represent
template <class To, class Values>
void put(To&& to, const Values& values) {
  const std::span out(to);
  using T = typename decltype(out)::value_type;
  if constexpr (std::ranges::sized_range<const Values>) {
    if (std::ranges::size(values) != out.size())
      throw Error("put", regimen::detail::counted(out.size(), "number") + ", as the model takes",
                  std::to_string(std::ranges::size(values)),
                  "bring all values to one size before (resize, crop), or change the model's Input");
    std::ranges::transform(values, out.begin(), [](const auto& value) { return detail::put_number<T>(value); });
  } else {
    put(out, std::array<Values, 1>{values});
  }
}

namespace detail {

/// The bytes of an image: value.pixels, value.pixels(), or the bytes of value.image.
template <class Value>
decltype(auto) pixels_of(const Value& value) {
  if constexpr (requires { value.image; }) return pixels_of(value.image);
  else if constexpr (requires { std::span<const std::uint8_t>(value.pixels()); })
    return std::span<const std::uint8_t>(value.pixels());
  else if constexpr (requires { std::span<const std::uint8_t>(value.pixels); })
    return std::span<const std::uint8_t>(value.pixels);
}

}  // namespace detail

/// Writes pixels of bytes, (H,W,C) with the channel last, as a model's numbers, and their class. Keep pixels as bytes
/// until here: they take a quarter of the memory.
///
///   input[i] = (pixels[i] / 255 − mean[c]) / deviation[c], c = i mod C; C = mean.size()
///   target[0] = label
///
/// A value has .pixels or .pixels() (bytes), or an .image with one of these, and .label (an integer).
///
///   mean, deviation   of each channel, of pixels / 255; over ImageNet {0.485, 0.456, 0.406} and {0.229, 0.224, 0.225}
///   failure           Error for a deviation of 0, other numbers of mean and deviation, or of pixels and inputs. Height
///                     and width are not known here: resize all images to the model's extents before
class WriteImage final {
 public:
  explicit WriteImage(const std::vector<double>& mean = {0}, const std::vector<double>& deviation = {1})
      : channels_(mean.size()) {
    if (mean.empty() || mean.size() != deviation.size())
      throw Error("WriteImage", "a mean and a deviation for each channel",
                  std::to_string(mean.size()) + " and " + std::to_string(deviation.size()));
    table_.resize(256 * channels_);
    for (std::size_t c = 0; c < channels_; ++c) {
      if (!(deviation[c] > 0))
        throw Error("WriteImage, deviation", "a number above 0", regimen::detail::digits_of(deviation[c]),
                    "1 leaves it out");
      for (std::size_t byte = 0; byte < 256; ++byte)
        table_[c * 256 + byte] = static_cast<float>((double(byte) / 255 - mean[c]) / deviation[c]);
    }
  }

  void check(const std::string& name, const SampleShape& shape) const {
    if (shape.input % channels_ != 0 || shape.target != 1)
      throw Error(
          name, "a model of images of " + regimen::detail::counted(channels_, "channel") + ", and a class",
          regimen::detail::counted(shape.input, "input") + " and " + regimen::detail::counted(shape.target, "target"),
          "change the model's Input, or give WriteImage a mean and a deviation for each channel");
  }
  template <class Image, class In, class Label>
    requires std::is_floating_point_v<In> && std::is_integral_v<Label> && requires(const Image& image) {
      detail::pixels_of(image).size();
      static_cast<Label>(image.label);
    }
  void operator()(const Image& image, Sample<In, Label> sample) const {
    const std::span<const std::uint8_t> pixels = detail::pixels_of(image);
    if (pixels.size() != sample.input.size())
      throw Error("image",
                  regimen::detail::counted(sample.input.size(), "pixel") + " times channels, as the model takes",
                  std::to_string(pixels.size()), "resize or crop all images to one size, or change the model's Input");
    for (std::size_t i = 0, c = 0; i < pixels.size(); ++i) {
      sample.input[i] = static_cast<In>(table_[c * 256 + pixels[i]]);
      if (++c == channels_) c = 0;
    }
    sample.target[0] = detail::put_number<Label>(image.label);
  }

 private:
  std::size_t channels_;
  std::vector<float> table_;  // (C, 256): what a byte becomes
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
