// regimen/rule/targets.hpp — rules about targets: memory, element types and speed of what a recipe is for.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/target.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Bytes by which a plan exceeds its Target.
template <std::size_t Bytes>
struct Exceeds;

/// What the sentence advises.
enum class Remedy { batch_or_blocks, batch, blocks_and_batch, blocks, target, half_weights, model, target_of_sample };

// What makes the plan fit, as the compiler has planned it: the rule's sentence names it, and its numbers stand here.
template <class... Policies>
struct Either {  // each of these policies
  static constexpr Remedy remedy = sizeof...(Policies) == 1 ? Remedy::batch : Remedy::batch_or_blocks;
};
template <class... Policies>
struct Together {  // these policies at once
  static constexpr Remedy remedy = sizeof...(Policies) == 1 ? Remedy::blocks : Remedy::blocks_and_batch;
};
template <std::size_t Bytes>
struct StateAlone {  // nothing: weights, gradients and optimizer state are larger by themselves
  static constexpr Remedy remedy = Remedy::target;
};
template <std::size_t Bytes>
struct WeightsAlone {  // nothing: an Inference's weights are, which in 16 bits would take so many bytes; 0: they do
  static constexpr Remedy remedy = Bytes > 0 ? Remedy::half_weights : Remedy::model;
};
struct SampleAlone {  // nothing: one sample needs more
  static constexpr Remedy remedy = Remedy::target_of_sample;
};

/// Needed and There in bytes, their difference, and what would fit; then the largest owners as types: layers,
/// iterations and bytes.   docs/errors/targets.md#fits_target
template <std::size_t Needed, std::size_t There, class Difference = void, class Cure = Either<>, class... Owners>
struct fits_target {
  static constexpr bool holds = Needed <= There;
  template <Remedy remedy>
  static constexpr bool holds_of = holds || Cure::remedy != remedy;
  struct must_hold {
    static_assert(
        holds_of<Remedy::batch_or_blocks>,
        "regimen: the plan needs more bytes than its Target has; lower the batch, or add Checkpoint<Every<1>>");
    static_assert(holds_of<Remedy::batch>,
                  "regimen: the plan needs more bytes than its Target has; lower the batch, or name a larger Target");
    static_assert(
        holds_of<Remedy::blocks_and_batch>,
        "regimen: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, and lower the batch");
    static_assert(
        holds_of<Remedy::blocks>,
        "regimen: the plan needs more bytes than its Target has; add Checkpoint<Every<1>>, or name a larger Target");
    static_assert(
        holds_of<Remedy::target>,
        "regimen: weights and optimizer state alone exceed the Target; name a larger one, or Shard<ZeRO3> over ranks");
    static_assert(holds_of<Remedy::half_weights>,
                  "regimen: the weights alone exceed the Target; write Precision<bf16>, or name a larger Target");
    static_assert(holds_of<Remedy::model>,
                  "regimen: the weights alone exceed the Target; name a larger Target, or a smaller model");
    static_assert(
        holds_of<Remedy::target_of_sample>,
        "regimen: one sample alone needs more bytes than the Target has; name a larger Target, or a smaller model");
  };
};

/// Anything fits into unlimited memory.   docs/errors/targets.md#largest_batch_needs_target
template <class Batch, class Target>
struct largest_batch_needs_target {
  static constexpr bool holds = !Batch::largest || !std::is_same_v<typename Target::description, targets::unlimited>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Batch<Largest> needs memory to fill; add Target<targets::h200> or your own, or write Batch<32>");
  };
};

/// Extents, Repeats and batches multiply; beyond 2^52 elements the plan's bytes would wrap around. So elements are
/// counted in floating point first.   docs/errors/targets.md#bytes_can_be_counted
template <class Network, class Batch>
struct bytes_can_be_counted {
  static constexpr bool holds = never<Network>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this model and batch need more bytes than can be counted; write smaller extents, a smaller Repeat or Batch");
  };
};

/// The type that a recipe for this target may compute in, if any: bf16, else fp32.
template <class Target>
using ComputedBy = std::conditional_t<Target::description::template supports<bf16>, bf16,
                                      std::conditional_t<Target::description::template supports<fp32>, fp32, void>>;

/// A TPU has neither fp16 nor fp64: the plan would describe an impossible run.
/// docs/errors/targets.md#target_computes_in
template <class Target, class Compute, class Instead = ComputedBy<Target>>
struct target_computes_in {
  static constexpr bool holds = Target::description::template supports<Compute>;
  template <class Other>
  static constexpr bool holds_of = holds || !std::is_same_v<Instead, Other>;
  struct must_hold {
    static_assert(
        holds_of<bf16>,
        "regimen: this target does not compute in this element type; write Precision<bf16, fp32>, or another Target");
    static_assert(
        holds_of<fp32>,
        "regimen: this target does not compute in this element type; write Precision<fp32>, or another Target");
    static_assert(holds_of<void>, "regimen: this target computes in none of our element types; write another Target");
  };
};

/// Target<Unaligned<...>, targets::h100> has its arguments in the wrong order.
/// docs/errors/targets.md#target_takes_bound
template <class Bound>
struct target_takes_bound {
  static constexpr bool holds = never<Bound>;
  struct must_hold {
    static_assert(
        holds, "regimen: Target<T, ...> takes the target first, then a bound; name Unaligned<Ratio<1, 100>>, or none");
  };
};

/// Tensor cores read rows that begin at multiples of 16 bytes in one piece.   docs/errors/targets.md#rows_are_aligned
template <class Layer, std::size_t Columns, std::size_t ElementBytes>
struct rows_are_aligned {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: rows of this layer are no multiples of 16 bytes, in more products than Unaligned<...> allows; widen it");
  };
};

/// On the CPU no plan counts rows, so the bound would hold whatever they are.
/// docs/errors/targets.md#unaligned_is_counted
template <class Target, class Device>
struct unaligned_is_counted {
  static constexpr bool holds = !Target::bounds_rows || engines::TraitsOf<typename Device::where>::is_checked;
  struct must_hold {
    static_assert(holds,
                  "regimen: rows are counted in plans for a GPU alone; take Unaligned<...> out, or write Device<Cuda>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
