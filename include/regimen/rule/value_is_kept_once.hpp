// regimen/rule/value_is_kept_once.hpp — a name stands for one value.
#pragma once

namespace regimen::rule {

/// Once: whether the model has one Keep<Name>, in no Repeat.   docs/errors/branches.md#value_is_kept_once
template <class Name, bool Once>
struct value_is_kept_once {
  static constexpr bool holds = Once;
  struct must_hold {
    static_assert(holds, "regimen: a name stands for one value; write Keep<Name> once, and in no Repeat");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
