// regimen/rule/padding_is_a_token.hpp — what pads a text is a token of its vocabulary.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// End: of a KeepLength. Words: the size of the vocabulary; 0 where there is no Embedding. Is: whether End is PaddedWith
/// a token of it.   docs/errors/texts.md#padding_is_a_token
template <class End, std::size_t Words, bool Is>
struct padding_is_a_token {
  static constexpr bool holds = Is;
  struct must_hold {
    static_assert(holds,
                  "regimen: PaddedWith<...> names no token of the vocabulary; write the one that fills shorter texts");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
