// regimen/rule/data_type_matches.hpp — data and labels have the element type that the model and its loss read.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// From: the data or labels given, To: Trainer::Input or Trainer::Label.   docs/errors/fit.md#data_type_matches
template <class From, class To>
struct data_type_matches {
  static constexpr bool holds = std::is_same_v<From, To>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this model reads other data or labels; give it std::vector<Train::Input> and std::vector<Train::Label>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
