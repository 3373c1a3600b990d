// regimen/rule/rotary_scales_frequencies.hpp — rotary frequencies are scaled as Llama 3 does, or not at all.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/self_attention.hpp>

#include <cstddef>

namespace regimen::rule {

template <class Scaling>
inline constexpr bool is_frequency_scaling = false;
template <>
inline constexpr bool is_frequency_scaling<Unscaled> = true;
template <class Factor, class Low, class High, std::size_t OriginalLength>
  requires(is_ratio<Factor> && is_ratio<Low> && is_ratio<High>)
inline constexpr bool is_frequency_scaling<Llama3Scaling<Factor, Low, High, OriginalLength>> =
    Factor::value > 0 && Low::value > 0 && Low::value < High::value&& OriginalLength > 0;

/// Pairs are divided by how often they turn within the original length.
/// docs/errors/attention.md#rotary_scales_frequencies
template <class Scaling>
struct rotary_scales_frequencies {
  static constexpr bool holds = is_frequency_scaling<Scaling>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Rotary<Theta, ...> takes Llama3Scaling<Factor, Low, High, Length>; write Ratios above 0, Low < High");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
