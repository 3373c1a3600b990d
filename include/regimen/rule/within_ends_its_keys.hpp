// regimen/rule/within_ends_its_keys.hpp — the length of Within is one of the text that has the keys.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Keys: those that the attention reads. Declared: the positions of the length's name.
/// docs/errors/texts.md#within_ends_its_keys
template <class Attention, std::size_t Keys, std::size_t Declared>
struct within_ends_its_keys {
  static constexpr bool holds = Keys == Declared;
  struct must_hold {
    static_assert(holds,
                  "regimen: Within<Name> ends keys of other positions than Name's; name the length of their text");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
