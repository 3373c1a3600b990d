// regimen/rule/precision.hpp — rules about precision: element types, master weights, loss scales.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/loss_scale.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/policy/precision.hpp>

#include <type_traits>

namespace regimen::rule {

/// Mixing fp64 with narrower types would round weights twice, or lose digits that fp64 computed.
/// docs/errors/precision.md#as_fits_precision
template <class T, class Precision>
struct as_fits_precision {
  static constexpr bool holds = std::is_same_v<T, fp64> == std::is_same_v<typename Precision::master, fp64>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: As<T, ...> mixes fp64 with narrower types; compute all of the model in Precision<fp64>, or none");
  };
};

/// The gradients of a single fp16 layer underflow, too.   docs/errors/precision.md#as_fp16_needs_loss_scale
template <class T, class LossScale>
struct as_fp16_needs_loss_scale {
  static constexpr bool holds = !std::is_same_v<T, fp16> || LossScale::scales;
  struct must_hold {
    static_assert(
        holds,
        "regimen: As<fp16, ...> needs Precision<fp16, fp32> and LossScale<Dynamic>; write As<bf16, ...>, or add them");
  };
};

/// As<Linear<10>, fp32> has its arguments in the wrong order.   docs/errors/precision.md#as_takes_element_type
template <class T>
struct as_takes_element_type {
  static constexpr bool holds = ComputeType<T>;
  struct must_hold {
    static_assert(
        holds, "regimen: As<T, Layers...> computes in T; write fp64, fp32, tf32, bf16 or fp16 first, then the layers");
  };
};

template <class T>
inline constexpr bool is_unbuilt_number = std::is_same_v<T, fp8_e4m3> || std::is_same_v<T, fp8_e5m2>;

/// The names are declared so that the error can say what to write instead.
/// docs/errors/precision.md#element_type_is_built
template <class T>
struct element_type_is_built {
  static constexpr bool holds = !is_unbuilt_number<T>;
  struct must_hold {
    static_assert(holds, "regimen: fp8 formats are not built; write Precision<bf16, fp32>");
  };
};

/// 16-bit logits have lost digits that softmax and the loss need.
/// T: the element type of the last layer's output.   docs/errors/precision.md#final_output_at_least_fp32
template <class T>
struct final_output_at_least_fp32 {
  static constexpr bool holds = !detail::is_any_of<T, bf16, fp16>;
  struct must_hold {
    static_assert(holds, "regimen: As<T, ...> narrows the output of this model below fp32; take it off the last layer");
  };
};

/// Gradients below 2^-24 underflow to zero in fp16; a loss scale prevents that.
/// docs/errors/precision.md#fp16_needs_loss_scale
template <class Precision, class LossScale>
struct fp16_needs_loss_scale {
  static constexpr bool holds = !std::is_same_v<typename Precision::compute, fp16> || LossScale::scales;
  struct must_hold {
    static_assert(holds,
                  "regimen: Precision<fp16, ...> needs a loss scale; add LossScale<Dynamic>, or compute in bf16");
  };
};

/// No narrower product reads fp64 weights, so they would gain nothing.
/// docs/errors/precision.md#fp64_masters_need_fp64
template <class Precision>
struct fp64_masters_need_fp64 {
  static constexpr bool holds =
      std::is_same_v<typename Precision::compute, fp64> || !std::is_same_v<typename Precision::master, fp64>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Precision<..., fp64> serves fp64 products alone; write Precision<..., fp32>, or Precision<fp64>");
  };
};

/// A scale of zero erases the loss, and an interval of zero never ends.
/// docs/errors/precision.md#loss_scale_at_least_one
template <class Scale>
struct loss_scale_at_least_one {
  static constexpr bool holds = !Scale::scales || (Scale::initial >= 1.0f && (!Scale::dynamic || Scale::interval >= 1));
  struct must_hold {
    static_assert(
        holds,
        "regimen: Static<N> and DynamicScale<N, Interval> need N >= 1 and Interval >= 1; write Static<1024>, or Dynamic");
  };
};

/// bf16, fp32 and fp64 reach down to 2^-126 and below: a scale would cost a pass and gain nothing.
/// docs/errors/precision.md#loss_scale_needs_fp16
template <class Precision, class LossScale>
struct loss_scale_needs_fp16 {
  static constexpr bool holds = std::is_same_v<typename Precision::compute, fp16> || !LossScale::scales;
  struct must_hold {
    static_assert(holds, "regimen: LossScale<...> serves fp16 alone; take it out, or compute in Precision<fp16, fp32>");
  };
};

/// An update below 2^-8 of a bf16 weight, or below 2^-11 of an fp16 weight, is rounded away.
/// docs/errors/precision.md#masters_are_not_half
template <class Precision>
struct masters_are_not_half {
  static constexpr bool holds = !detail::is_any_of<typename Precision::master, bf16, fp16>;
  struct must_hold {
    static_assert(
        holds, "regimen: Precision<bf16> and Precision<fp16> would keep 16-bit weights; write Precision<bf16, fp32>");
  };
};

/// Precision<fp64, fp32> would round every fp64 update to fp32.   docs/errors/precision.md#masters_as_wide_as_compute
template <class Precision>
struct masters_as_wide_as_compute {
  static constexpr bool holds =
      !std::is_same_v<typename Precision::compute, fp64> || !std::is_same_v<typename Precision::master, fp32>;
  struct must_hold {
    static_assert(holds, "regimen: Precision<fp64, ...> keeps fp64 weights; write Precision<fp64>, or Precision<fp32>");
  };
};

/// A third type would add a rounding without need.   docs/errors/precision.md#reduce_in_compute_or_master
template <class Precision>
struct reduce_in_compute_or_master {
  static constexpr bool holds =
      detail::is_any_of<typename Precision::reduce, typename Precision::compute, typename Precision::master>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Precision<..., ..., Reduce> sums gradients in Compute or Master; name one, or leave Reduce out");
  };
};

/// The loss scale moves gradients near the largest fp16 number; the sum over two ranks would overflow.
/// docs/errors/precision.md#scaled_gradients_reduce_in_fp32
template <class Precision, class LossScale, class Communicator>
struct scaled_gradients_reduce_in_fp32 {
  static constexpr bool holds = !LossScale::scales || sizeof(typename Precision::reduce) >= 4 ||
                                std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(holds, "regimen: ranks would add scaled gradients in 16 bits; write Precision<fp16, fp32, fp32>");
  };
};

/// Weights of 10 bits of mantissa would lose the updates that fp32 masters keep.
/// docs/errors/precision.md#tf32_is_stored_as_fp32
template <class Precision>
struct tf32_is_stored_as_fp32 {
  static constexpr bool holds =
      !std::is_same_v<typename Precision::master, tf32> && !std::is_same_v<typename Precision::reduce, tf32>;
  struct must_hold {
    static_assert(holds, "regimen: products read tf32, and nothing is stored in it; write Precision<tf32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
