// regimen/data/image_operations.ipp — the body of rotate.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/image_operations.hpp>

#include <numbers>

namespace regimen::data {

REGIMEN_INLINE Image rotate(const Image& image, double degrees) {
  const double angle = degrees * (std::numbers::pi / 180), x = double(image.width()) / 2,
               y = double(image.height()) / 2;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  return affine(image, {cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y});
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
