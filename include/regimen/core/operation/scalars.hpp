// regimen/core/operation/scalars.hpp — what an operation costs, and the numbers of a step that operations hand to each
// other.
#pragma once

#include <regimen/core/path.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen {

/// What an operation costs: floating-point operations, bytes that it must read or write at least once, and bytes that
/// this rank sends to others.
///   link                  bytes copied between a device and the host's memory, under Checkpoint<Offload>
///   products, unaligned   of the flops: those of products, and those of products with unaligned rows, where a plan for
///                         a device with tensor cores counts them
struct Cost {
  double flops = 0, bytes = 0;
  std::size_t operations = 0, wire = 0;
  double products = 0, unaligned = 0;
  std::size_t link = 0;

  constexpr Cost& operator+=(const Cost& other) {
    // One statement: compilers limit the statements of a constant expression, and a plan sums thousands of costs.
    return flops += other.flops, bytes += other.bytes, operations += other.operations, wire += other.wire,
           products += other.products, unaligned += other.unaligned, link += other.link, *this;
  }
};

/// Target that stands for "no target here": the row adds nothing to loss, count, or gradient.
inline constexpr std::int32_t ignore_index = -100;
/// "No target here" among targets that are numbers, for a loss that is Masked: a NaN.
template <class T>
inline constexpr T no_target = std::numeric_limits<T>::quiet_NaN();
template <>
inline constexpr std::int32_t no_target<std::int32_t> = ignore_index;

namespace op {

/// Which part of a step an operation belongs to.
enum class Phase : unsigned char { forward, backward, update };

/// Which numbers to draw. The word for element e of sample s in layer `stream` is
///   Philox::draw(key, e / 8, s)  →  eight 16-bit values, low half of word 0 first
///   key = Philox::mix(Philox::mix(seed, step), stream)
/// with s the sample's index in the global batch of the step. So a recomputed layer draws the same numbers.
struct Random {
  std::uint64_t seed = 0, step = 0, first_sample = 0;
};

/// The first value that was not finite since the step began, as op::CheckFinite found it.
struct Anomaly {
  LayerPath path{};  // of the layer
  std::uint64_t element = 0;
  bool found = false, is_nan = false;
  Phase phase = Phase::forward;
};

}  // namespace op

/// The numbers of one step that its operations hand to each other. They live in the arena and never leave the device
/// inside a step: whatever depends on them is decided by operations, not by the host.
///
/// The host writes the first members before a micro-batch. They are data, so that an engine can record a step once and
/// replay it with other values.
struct Scalars {
  op::Random random{};
  double learning_rate = 0;
  // Operations write the members below.
  double loss_sum = 0;           // over the valid targets of the whole global batch
  double count = 0;              // those valid targets
  double correct = 0;            // valid rows whose largest output is the target's, when evaluating
  double square_sum = 0;         // of all gradients as stored (scaled, not divided)
  double loss = 0;               // loss_sum / count
  double gradient_norm = 0;      // of the divided, unscaled gradient, before clipping
  double factor = 0;             // stored gradient · factor = the gradient that the update rule sees
  double correction_first = 0;   // 1 / (1 - beta1^t)
  double correction_second = 0;  // 1 / (1 - beta2^t)
  double loss_scale = 1;
  std::uint64_t finite_streak = 0;  // consecutive finite steps, for the dynamic loss scale
  std::uint64_t updates = 0;        // Adam's t: steps that changed the weights
  std::uint64_t skipped = 0;        // steps that a non-finite gradient skipped
  std::uint32_t apply = 0;          // does this step change the weights?
  op::Anomaly anomaly{};
};
/// Bytes of Scalars that the host writes before a micro-batch.
inline constexpr std::size_t given_bytes = offsetof(Scalars, loss_sum);

/// One rank's sums of a step, which all ranks exchange.
///   square_sum   over the part of the gradients that this rank sums
struct RankSums {
  double loss_sum = 0, count = 0, correct = 0, square_sum = 0;
};

/// Offsets of members.
constexpr View<double> square_sum_of(View<Scalars> scalars) { return {scalars.offset + offsetof(Scalars, square_sum)}; }
constexpr View<double> learning_rate_of(View<Scalars> scalars) {
  return {scalars.offset + offsetof(Scalars, learning_rate)};
}
constexpr View<double> factor_of(View<Scalars> scalars) { return {scalars.offset + offsetof(Scalars, factor)}; }
constexpr View<double> square_sum_of(View<RankSums> sums) { return {sums.offset + offsetof(RankSums, square_sum)}; }
constexpr View<op::Random> random_of(View<Scalars> scalars) {
  return {scalars.is_absent() ? scalars.offset : scalars.offset + offsetof(Scalars, random)};
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
