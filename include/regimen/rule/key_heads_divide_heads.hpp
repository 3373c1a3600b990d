// regimen/rule/key_heads_divide_heads.hpp — equally many heads share each key head.
#pragma once

namespace regimen::rule {

/// Neighbouring heads share keys and values.   docs/errors/attention.md#key_heads_divide_heads
template <class HeadCount, class KeyHeadCount>
struct key_heads_divide_heads {
  static constexpr bool holds =
      KeyHeadCount::count >= 1 && HeadCount::count % (KeyHeadCount::count >= 1 ? KeyHeadCount::count : 1) == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: KeyHeads<K> are each shared by equally many heads; write a K that divides N in Heads<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
