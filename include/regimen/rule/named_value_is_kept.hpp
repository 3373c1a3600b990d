// regimen/rule/named_value_is_kept.hpp — what is read has been kept.
#pragma once

namespace regimen::rule {

/// Kept: whether a Keep<Name> comes before, in the order in which layers are computed.
/// docs/errors/branches.md#named_value_is_kept
template <class Name, bool Kept>
struct named_value_is_kept {
  static constexpr bool holds = Kept;
  struct must_hold {
    static_assert(holds,
                  "regimen: a layer reads a value by a name that is kept nowhere before; put Keep<Name> before it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
