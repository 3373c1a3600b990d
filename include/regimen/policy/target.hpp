// regimen/policy/target.hpp — the memory that a plan must fit, and the speeds that predict its time.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/policy/bytes.hpp>
#include <regimen/policy/policy.hpp>

#include <concepts>
#include <cstddef>
#include <limits>

namespace regimen {

/// A machine as constexpr data. regimen::targets has several; write your own as a struct with these members:
///
///   name          for tables
///   memory        bytes that a program may take, without the bytes of driver and context
///   supports<T>   whether the machine computes in T
///
/// and, if they are published, the figures that MemoryPlan::seconds uses:
///
///   bandwidth     bytes per second of the memory
///   flops<T>      peak floating point operations per second of dense products in T; 0: not published
///   link          bytes per second between this memory and the host's, in one direction: for Checkpoint<Offload>
///
///   valid      struct mine { static constexpr const char* name = "mine"; static constexpr
///              std::size_t memory = 6_GiB; … };
///   invalid    a struct without memory: nothing bounds the plan
template <class T>
concept TargetDescription = requires {
  { T::name } -> std::convertible_to<const char*>;
  { T::memory } -> std::convertible_to<std::size_t>;
  { T::template supports<fp32> } -> std::convertible_to<bool>;
};

/// A target that states a bandwidth, and a peak in Number.
template <class T, class Number>
concept TargetWithRates = requires {
  requires T::bandwidth > 0;
  requires T::template flops<Number> > 0;
};

namespace detail {
template <class T>
inline constexpr bool belongs_to<T, axis::target> = TargetDescription<T>;

/// One figure per element type, in 10^12 operations per second.
template <class T>
constexpr double tera(double of_fp64, double of_fp32, double of_tf32, double of_bf16, double of_fp16) {
  return 1e12 * (std::is_same_v<T, fp64>   ? of_fp64
                 : std::is_same_v<T, fp32> ? of_fp32
                 : std::is_same_v<T, tf32> ? of_tf32
                 : std::is_same_v<T, bf16> ? of_bf16
                 : std::is_same_v<T, fp16> ? of_fp16
                                           : 0);
}

/// Targets that compute in every type; GPUs of one architecture, which have the same peaks and link.
struct ComputesInAll {
  template <class T>
  static constexpr bool supports = ComputeType<T>;
};
struct Ampere : ComputesInAll {
  static constexpr double link = 32e9;
  template <class T>
  static constexpr double flops = tera<T>(19.5, 19.5, 156, 312, 312);
};
struct Hopper : ComputesInAll {
  static constexpr double link = 64e9;
  template <class T>
  static constexpr double flops = tera<T>(67, 67, 494.7, 989.5, 989.5);
};
}  // namespace detail

/// Bandwidths and peaks are the vendors' figures for dense products; fp32 is fp32, not tf32; fp64 is the peak of the
/// tensor cores, if they compute in fp64. A link is half of the vendor's figure for both directions of PCIe. Memory is
/// a lower bound, which we chose with care, of the bytes that driver, context and libraries leave to a program.
namespace targets {

/// The default: every plan fits; computes in every type; states no speed.
struct unlimited final : detail::ComputesInAll {
  static constexpr const char* name = "unlimited";
  static constexpr std::size_t memory = (std::numeric_limits<std::size_t>::max)();
};

/// source   NVIDIA A100 data sheet, June 2021: 40 GB PCIe and SXM
struct a100_40g final : detail::Ampere {
  static constexpr const char* name = "A100 40 GB";
  static constexpr std::size_t memory = 38_GiB;
  static constexpr double bandwidth = 1.555e12;
};

/// source   NVIDIA A100 data sheet, June 2021: 80 GB SXM
struct a100_80g final : detail::Ampere {
  static constexpr const char* name = "A100 80 GB";
  static constexpr std::size_t memory = 78_GiB;
  static constexpr double bandwidth = 2.039e12;
};

/// source   NVIDIA H100 data sheet: SXM, half of the figures with sparsity
struct h100 final : detail::Hopper {
  static constexpr const char* name = "H100 SXM";
  static constexpr std::size_t memory = 78_GiB;
  static constexpr double bandwidth = 3.35e12;
};

/// source   NVIDIA H200 data sheet: SXM, half of the figures with sparsity
struct h200 final : detail::Hopper {
  static constexpr const char* name = "H200 SXM";
  static constexpr std::size_t memory = 138_GiB;
  static constexpr double bandwidth = 4.8e12;
};

/// source   NVIDIA HGX B200: an eighth of the figures for eight GPUs; of figures with sparsity half of that
struct b200 final : detail::ComputesInAll {
  static constexpr const char* name = "B200";
  static constexpr std::size_t memory = 176_GiB;
  static constexpr double bandwidth = 8e12;
  template <class T>
  static constexpr double flops = detail::tera<T>(37, 75, 1125, 2250, 2250);
};

/// One of the two cores of a TPU v3 chip; a program gets 15.48 of its 16 GiB. It multiplies in bf16;
/// no peak for fp32 is published.
/// source   Google Cloud, TPU v3: 32 GiB, 900 GB/s and 123 TFLOPS per chip
struct tpu_v3_core final {
  static constexpr const char* name = "TPU v3 core";
  static constexpr std::size_t memory = 15_GiB + 491_MiB;
  static constexpr double bandwidth = 0.45e12;
  template <class T>
  static constexpr bool supports = detail::is_any_of<T, fp32, bf16>;
  template <class T>
  static constexpr double flops = detail::tera<T>(0, 0, 0, 61.5, 0);
};

/// A host with this much free memory: `Target<targets::host<8_GiB>>`. It stores bf16 and fp16; products may be in fp32.
template <std::size_t Bytes>
struct host final : detail::ComputesInAll {
  static constexpr const char* name = "host";
  static constexpr std::size_t memory = Bytes;
};

}  // namespace targets

/// A bound inside a Target: at most this share of the products' flops may belong to products with rows that are no
/// multiples of 16 bytes, which tensor cores read slowly. Without this bound a plan only names such products
/// (MemoryPlan::unaligned).
template <class Share>
struct Unaligned final {
  using share = Share;
};

namespace detail {
template <class... Bounds>
inline constexpr double unaligned_share = 1;
template <class Share, class... Others>
inline constexpr double unaligned_share<Unaligned<Share>, Others...> = double(Share::value);
}  // namespace detail

/// Decides which machine the memory plan must fit. A recipe that does not fit does not compile; the error shows the
/// needed bytes, the available bytes and the layers that need most. Another machine may compile and run the program.
///
///   choices   Target<targets::…>; a struct of your own; for a GPU also a bound:
///             Target<targets::h100, Unaligned<Ratio<1, 100>>>
///   default   Target<targets::unlimited>
///   refuses   a Compute that the target does not support: fp16 and fp64 on a TPU
///   effect    rule/machine_rules.hpp (fits_target), programs/recipe.hpp (Target), programs/plan.hpp (Target)
template <class T, class... Bounds>
struct Target final {
  using axis = regimen::axis::target;
  using description = T;
  static constexpr bool bounds_rows = sizeof...(Bounds) > 0;
  static constexpr double unaligned = detail::unaligned_share<Bounds...>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
