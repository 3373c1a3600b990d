// regimen/rule/map_takes_value.hpp — the function of a stage takes the values of the dataset before it.
#pragma once

#include <regimen/data/dataset.hpp>

#include <type_traits>
#include <utility>

namespace regimen::rule {

/// F is called on a const object, from several threads: a lambda is not mutable.
/// docs/errors/data.md#map_takes_value
template <class F, class D>
struct map_takes_value {
  using Value = decltype(std::declval<const D&>().at(std::declval<const data::Key&>()));
  static constexpr bool alone = std::is_invocable_v<const F&, Value>;
  static constexpr bool holds = alone || std::is_invocable_v<const F&, Value, const data::Key&>;
  struct must_hold {
    static_assert(holds,
                  "regimen: map(f) calls f(value) or f(value, key), const; let f take what the stage before it gives");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
