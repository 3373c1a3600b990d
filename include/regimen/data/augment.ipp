// regimen/data/augment.ipp — the body of RandomResizedCrop::box.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/augment.hpp>

namespace regimen::data {

REGIMEN_INLINE Box RandomResizedCrop::box(std::size_t tall, std::size_t wide, const Key& key) const {
  if (!(least_area > 0 && least_area <= most_area && most_area <= 1 && least_ratio > 0 && least_ratio <= most_ratio))
    throw Error("RandomResizedCrop", "0 < least_area <= most_area <= 1 and 0 < least_ratio <= most_ratio", "others");
  Draws draws(key, Philox::mix(0xC1, stage));
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

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
