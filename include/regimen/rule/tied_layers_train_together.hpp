// regimen/rule/tied_layers_train_together.hpp — a shared table trains, or it is frozen.
#pragma once

namespace regimen::rule {

/// A table has one set of weights.   docs/errors/weights.md#tied_layers_train_together
template <class Table, bool Together>
struct tied_layers_train_together {
  static constexpr bool holds = Together;
  struct must_hold {
    static_assert(holds,
                  "regimen: an Embedding and its TiedLinear train together; write both inside Frozen<...>, or neither");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
