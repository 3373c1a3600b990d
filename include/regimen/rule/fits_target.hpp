// regimen/rule/fits_target.hpp — the plan fits the memory of the target.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Bytes by which a plan exceeds its Target.
template <std::size_t Bytes>
struct Exceeds;

// What makes the plan fit, as the compiler has planned it: the rule's sentence names it, and its numbers stand here.
template <class... Policies>
struct Either;  // each of these policies
template <class... Policies>
struct Together;  // these policies at once
template <std::size_t Bytes>
struct StateAlone;  // nothing: weights, gradients and optimizer state are larger by themselves
template <std::size_t Bytes>
struct WeightsAlone;  // nothing: an Inference's weights are, which in 16 bits would take so many bytes; 0: they do
struct SampleAlone;   // nothing: one sample needs more

/// Needed and There in bytes, their difference, and what would fit; then the largest owners as types: layers, iterations
/// and bytes.   docs/errors/targets.md#fits_target
template <std::size_t Needed, std::size_t There, class Difference = void, class Cure = void, class... Owners>
struct fits_target {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(
        holds, "regimen: the plan needs more bytes than its Target has; lower the batch, or add Checkpoint<Every<1>>");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, class Batch, class... Owners>
struct fits_target<Needed, There, Difference, Either<Batch>, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(holds,
                  "regimen: the plan needs more bytes than its Target has; lower the batch, or name a larger Target");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, class Batch, class Checkpoint, class... Owners>
struct fits_target<Needed, There, Difference, Together<Batch, Checkpoint>, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(
        holds, "regimen: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, and lower the batch");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, class Checkpoint, class... Owners>
struct fits_target<Needed, There, Difference, Together<Checkpoint>, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, or name a larger Target");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, std::size_t Bytes, class... Owners>
struct fits_target<Needed, There, Difference, StateAlone<Bytes>, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(
        holds,
        "regimen: weights and optimizer state alone exceed the Target; name a larger one, or Shard<ZeRO3> over ranks");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, std::size_t InHalf, class... Owners>
struct fits_target<Needed, There, Difference, WeightsAlone<InHalf>, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(holds,
                  "regimen: the weights alone exceed the Target; write Precision<bf16>, or name a larger Target");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, class... Owners>
struct fits_target<Needed, There, Difference, WeightsAlone<0>, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(holds, "regimen: the weights alone exceed the Target; name a larger Target, or a smaller model");
  };
};
template <std::size_t Needed, std::size_t There, class Difference, class... Owners>
struct fits_target<Needed, There, Difference, SampleAlone, Owners...> {
  static constexpr bool holds = Needed <= There;
  struct must_hold {
    static_assert(
        holds,
        "regimen: one sample alone needs more bytes than the Target has; name a larger Target, or a smaller model");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
