// regimen/rule/joined_values_agree.hpp — datasets that become one have values of one type.
#pragma once

namespace regimen::rule {

/// docs/errors/data.md#joined_values_agree
template <bool agree, class... Values>
struct joined_values_agree {
  static constexpr bool holds = agree;
  struct must_hold {
    static_assert(holds,
                  "regimen: concatenate, interleave and mixture join values of one type; map them to one before");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
