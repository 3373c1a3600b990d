// regimen/rule/rotary_turns_pairs.hpp — rotary position embeddings turn pairs of channels.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Named, Heads<N> or HeadWidth<D>, makes heads of Width channels.   docs/errors/attention.md#rotary_turns_pairs
template <class Named, std::size_t Width>
struct rotary_turns_pairs {
  static constexpr bool holds = Width % 2 == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: Rotary turns pairs of a head's channels; write Heads<N> or HeadWidth<D> with even heads");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
