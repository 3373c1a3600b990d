// regimen/rule/inference_is_not_const.hpp — predictions write to an Inference's arena.
#pragma once

namespace regimen::rule {

/// A const object is one that several threads may call.   docs/errors/inference.md#inference_is_not_const
template <class Inference, bool Const = true>
struct inference_is_not_const {
  static constexpr bool holds = !Const;
  struct must_hold {
    static_assert(
        holds, "regimen: a const Inference neither predicts nor loads; leave out const, or call its share() for one");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
