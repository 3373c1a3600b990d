// regimen/data/image.ipp — the body of Normalise.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/image.hpp>

namespace regimen::data {

namespace detail {

template <class T>
void normalise(const Normalise& how, const Image& image, std::span<T> to) {
  const std::size_t channels = image.channels(), all = image.pixels().size();
  expect_colours("Normalise", image);
  if ((how.height != 0 && image.height() != how.height) || (how.width != 0 && image.width() != how.width))
    throw Error("Normalise",
                "an image of height " + std::to_string(how.height) + " and width " + std::to_string(how.width),
                image.extents(), "resize the images to the model's Input");
  for (std::size_t c = 0; c < channels; ++c)
    if (!(how.deviation[c] > 0))
      throw Error("Normalise, deviation", "a number above 0", regimen::detail::digits_of(how.deviation[c]));
  if (to.size() != all)
    throw Error("Normalise", "a model of " + image.extents() + " numbers, as the image has", std::to_string(to.size()),
                "resize the images to the model's Input");
  constexpr std::size_t period = 48;  // a multiple of the channels, and of the processor's vectors
  T scale[period], shift[period];
  for (std::size_t i = 0; i < period; ++i) {
    const std::size_t c = i % channels;
    scale[i] = T(1) / (T(255) * T(how.deviation[c]));
    shift[i] = T(how.mean[c]) / T(how.deviation[c]);
  }
  const std::uint8_t* const from = image.pixels().data();
  std::size_t done = 0;
  for (; done + period <= all; done += period)
    for (std::size_t i = 0; i < period; ++i) to[done + i] = T(from[done + i]) * scale[i] - shift[i];
  for (std::size_t i = 0; done + i < all; ++i) to[done + i] = T(from[done + i]) * scale[i] - shift[i];
}

}  // namespace detail

REGIMEN_INLINE void Normalise::operator()(const Image& image, std::span<float> to) const {
  detail::normalise(*this, image, to);
}
REGIMEN_INLINE void Normalise::operator()(const Image& image, std::span<double> to) const {
  detail::normalise(*this, image, to);
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
