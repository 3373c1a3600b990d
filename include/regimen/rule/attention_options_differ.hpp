// regimen/rule/attention_options_differ.hpp — attention has each option at most once.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// One of two Dropouts would be ignored. Most: how often an option occurs.
/// docs/errors/attention.md#attention_options_differ
template <class Attention, std::size_t Most>
struct attention_options_differ {
  static constexpr bool holds = Most <= 1;
  struct must_hold {
    static_assert(holds, "regimen: attention has an option twice; keep one of each kind");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
