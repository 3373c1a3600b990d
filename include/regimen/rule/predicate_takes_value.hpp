// regimen/rule/predicate_takes_value.hpp — what chooses values takes the value alone, and draws nothing.
#pragma once

#include <regimen/data/dataset.hpp>

#include <type_traits>
#include <utility>

namespace regimen::rule {

/// It is called once for all epochs: with a key it would draw for one of them.
/// docs/errors/data.md#predicate_takes_value
template <class F, class D>
struct predicate_takes_value {
  using Value = decltype(std::declval<const D&>().at(std::declval<const data::Key&>()));
  static constexpr bool holds = std::is_invocable_v<const F&, Value>;
  struct must_hold {
    static_assert(
        holds, "regimen: filter, by_length and split(by) call f(value), const, once; let f take no key, and not draw");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
