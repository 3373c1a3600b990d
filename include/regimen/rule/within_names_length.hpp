// regimen/rule/within_names_length.hpp — the length of a text has the name of a length.
#pragma once

namespace regimen::rule {

/// Is: whether Name is a NamedLength.   docs/errors/texts.md#within_names_length
template <class Name, bool Is>
struct within_names_length {
  static constexpr bool holds = Is;
  struct must_hold {
    static_assert(holds, "regimen: Within and KeepLength name a length; write struct Name : NamedLength<...> {}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
