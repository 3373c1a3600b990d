// regimen/rule/cached_bytes_are_known.hpp — a cache states its bytes, so its values state theirs.
#pragma once

namespace regimen::rule {

/// Known of types without destructors, of vectors and strings, and of pairs and tuples of these.
/// docs/errors/data.md#cached_bytes_are_known
template <class Value, bool are_known>
struct cached_bytes_are_known {
  static constexpr bool holds = are_known;
  struct must_hold {
    static_assert(holds, "regimen: cache() states its bytes; give the value bytes() const, the memory that it owns");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
