// regimen/rule/embedding_takes_option.hpp — no option of Embedding is ignored.
#pragma once

namespace regimen::rule {

/// Holds: whether Option is one of Embedding's, or, of an Embedding, whether it has one at most.
/// docs/errors/models.md#embedding_takes_option
template <class Option, bool Holds>
struct embedding_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds, "regimen: Embedding<Vocabulary<N>, Channels, ...> takes PaddedWith<token>, once; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
