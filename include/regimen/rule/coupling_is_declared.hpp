// regimen/rule/coupling_is_declared.hpp — every loss and every layer says whether it couples the samples of a batch.
#pragma once

#include <concepts>

namespace regimen::detail {

/// Whether T declares if its result for a sample depends on the other samples of the batch.
template <class T>
concept SaysWhetherItCouples = requires {
  { T::couples_samples } -> std::convertible_to<bool>;
};

/// Whether T declares that its result does depend on them.
template <class T>
inline constexpr bool couples_samples = false;
template <SaysWhetherItCouples T>
inline constexpr bool couples_samples<T> = T::couples_samples;

/// Whether it says that pieces of a batch are meant: `takes_pieces`, as BatchNorm<PerMicroBatch> does.
template <class T>
inline constexpr bool takes_pieces = false;
template <class T>
  requires requires { T::takes_pieces; }
inline constexpr bool takes_pieces<T> = T::takes_pieces;

/// Whether it sees the samples of all ranks: `joins_ranks`, as BatchNorm<OverRanks> does.
template <class T>
inline constexpr bool joins_ranks = false;
template <class T>
  requires requires { T::joins_ranks; }
inline constexpr bool joins_ranks<T> = T::joins_ranks;

}  // namespace regimen::detail

namespace regimen::rule {

/// There is no default: Accumulate and ranks cut batches of independent samples, and a wrong
/// guess would change the result.
/// docs/errors/extensions.md#coupling_is_declared
template <class Layer>
struct coupling_is_declared {
  static constexpr bool holds = detail::SaysWhetherItCouples<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a layer says whether it couples the samples of a batch; add static constexpr bool couples_samples");
  };
};

/// The same for a loss.   docs/errors/extensions.md#coupling_is_declared_loss
template <class Loss>
struct coupling_is_declared_by_loss {
  static constexpr bool holds = detail::SaysWhetherItCouples<Loss>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a loss says whether it couples the samples of a batch; add static constexpr bool couples_samples");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
