// regimen/rule/generate_reads_one_text.hpp — generate goes on with a text that nothing else is read beside.
#pragma once

namespace regimen::rule {

/// Every position of a CrossAttention sees all of the named value, be it of the same text, where that is later words.
/// One: whether the model has no CrossAttention.   docs/errors/texts.md#generate_reads_one_text
template <class Network, bool One>
struct generate_reads_one_text {
  static constexpr bool holds = One;
  struct must_hold {
    static_assert(holds,
                  "regimen: generate goes on with one text, a CrossAttention reads two; call predict for every token");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
