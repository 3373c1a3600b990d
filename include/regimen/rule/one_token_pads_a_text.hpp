// regimen/rule/one_token_pads_a_text.hpp — every KeepLength of a text counts up to the same token.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// Who predicts fills a shorter text with the one, and the other would see no end.
/// First, Other: of the first KeepLength of a text, and of a later one.   docs/errors/texts.md#one_token_pads_a_text
template <class First, class Other>
struct one_token_pads_a_text {
  static constexpr bool holds = std::is_same_v<First, Other>;
  struct must_hold {
    static_assert(holds,
                  "regimen: PaddedWith<...> differs between two KeepLength of one text; write the same token in both");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
