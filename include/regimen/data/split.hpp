// regimen/data/split.hpp — two parts of one dataset, or of one text.
#pragma once

namespace regimen::data {

/// The two parts of a dataset: `auto [train, validation] = values | data::split(0.9);`
template <class Train, class Validation = Train>
struct Split final {
  Train train;
  Validation validation;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
