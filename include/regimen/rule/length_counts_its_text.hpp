// regimen/rule/length_counts_its_text.hpp — KeepLength counts a text of as many positions as its name declares.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Found: the positions of the text. Declared: those of NamedLength<...>.   docs/errors/texts.md#length_counts_its_text
template <class Keep, std::size_t Found, std::size_t Declared>
struct length_counts_its_text {
  static constexpr bool holds = Found == Declared;
  struct must_hold {
    static_assert(holds,
                  "regimen: KeepLength<Name, ...> counts a text of other positions than Name's; declare the text's");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
