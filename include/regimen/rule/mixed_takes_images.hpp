// regimen/rule/mixed_takes_images.hpp — images are mixed pixel by pixel, not file by file.
#pragma once

namespace regimen::rule {

/// docs/errors/data.md#mixed_takes_images
template <class Value, bool is_image>
struct mixed_takes_images {
  static constexpr bool holds = is_image;
  struct must_hold {
    static_assert(holds, "regimen: mixed takes values of data::LabelledImage; decode files before, in a map");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
