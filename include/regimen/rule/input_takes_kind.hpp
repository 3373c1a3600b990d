// regimen/rule/input_takes_kind.hpp — Input<...> takes the kind of a sample.
#pragma once

namespace regimen::rule {

/// A kind has a member template value<Statistic>; Input<float> has none.   docs/errors/models.md#input_takes_kind
template <class Kind, bool IsKind = requires { typename Kind::template value<float>::Shape; }>
struct input_takes_kind {
  static constexpr bool holds = IsKind;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Input<...> takes a sample's kind; write Tokens<T>, Vector<N>, Series<...>, Image<...> or Volume<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
