// regimen/rule/borrows_no_temporary.hpp — what a function keeps a reference to outlives the call.
#pragma once

namespace regimen::rule {

/// The reference would lead to memory that is gone at the end of the line.   docs/errors/fit.md#borrows_no_temporary
template <class Temporary, bool Borrows = true>
struct borrows_no_temporary {
  static constexpr bool holds = !Borrows;
  struct must_hold {
    static_assert(holds, "regimen: what is returned refers to a temporary; give that a name, so that it lives as long");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
