// regimen/policy/loss_scale.hpp — a factor on the loss, which keeps fp16 gradients from underflow.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// A constant scale: backward computes the gradients of Scale · loss; the step divides them by Scale in fp32 before it
/// uses them.
template <std::size_t Scale>
struct Static final : detail::OptionOf<axis::loss_scale> {
  static constexpr bool scales = true, dynamic = false;
  static constexpr float initial = static_cast<float>(Scale);
  static constexpr std::size_t interval = 0;
};

/// A scale that adapts to the gradients.
///
///   all finite       count + 1 < Interval: count += 1; otherwise count = 0, and scale *= 2, if the product is finite
///   one not finite   scale = max(scale / 2, 1), count = 0, and every rank skips the step: weights, moments and Adam's
///                    t stay; data and schedule advance
///
/// source   Keras, LossScaleOptimizer: Initial 2^15, Interval 2000, factor 2
template <std::size_t Initial = 32768, std::size_t Interval = 2000>
struct DynamicScale : detail::OptionOf<axis::loss_scale> {
  static constexpr bool scales = true, dynamic = true;
  static constexpr float initial = static_cast<float>(Initial);
  static constexpr std::size_t interval = Interval;
};

/// DynamicScale with the defaults of Keras.
struct Dynamic final : DynamicScale<> {};

/// Decides the factor that multiplies the loss before backward; after backward the gradients are divided by it.
///
///   choices   LossScale<None>, LossScale<Static<1024>>, LossScale<Dynamic>, LossScale<DynamicScale<Initial, Interval>>
///   default   LossScale<None>
///   refuses   None under fp16; a scale under bf16, fp32 and fp64, whose least exponent is that of fp32, or lower; a
///             scale or an interval of 0
///   cost      one pass over the gradients, shared with their norm and the finite check
///   effect    programs/recipe.hpp (loss_scaling), core/step_decisions.hpp (loss_scale)
template <class Scale>
struct LossScale final {
  using axis = regimen::axis::loss_scale;
  using scale = Scale;
  static constexpr bool scales = Scale::scales, dynamic = Scale::dynamic;
  static constexpr float initial = Scale::initial;
  static constexpr std::size_t interval = Scale::interval;
};

template <>
struct LossScale<None> final {
  using axis = regimen::axis::loss_scale;
  using scale = None;
  static constexpr bool scales = false, dynamic = false;
  static constexpr float initial = 1.0f;
  static constexpr std::size_t interval = 0;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
