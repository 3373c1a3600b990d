// regimen/core/operation/rotary.hpp — the operation of rotary position embeddings.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation/attention.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::op {

/// How fast the pairs of a head turn: pair i of a head of D channels by theta^(−2i/D) per position.
///
/// Stretched for texts longer than those of training, if original_length is not 0: with w turns of a pair within the
/// original length, the frequency is divided by `factor` where w < low, kept where w > high, and between the two it is
/// interpolated linearly in w.
///
/// error   fp64: at position p an angle is off by at most p · 2^−51, 2^−34 at position 131072; also stretched, by Llama
///         3's numbers
struct RotaryFrequencies {
  double theta = 10'000;
  double factor = 1, low = 1, high = 4, original_length = 0;

  REGIMEN_HD double operator()(std::size_t pair, std::size_t width) const {
    constexpr double full_turn = 6.283185307179586477;
    const double plain = std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
    if (original_length == 0) return plain;
    const double turns = original_length * plain / full_turn;
    if (turns > high) return plain;
    if (turns < low) return plain / factor;
    const double kept = (turns - low) / (high - low);
    return (1 - kept) * (plain / factor) + kept * plain;
  }
};

/// Turns q and k of each position by its angles; v stays. With a = p · frequency(i), p = first + t:
///   y[i] = x[i] · cos a − x[i + D/2] · sin a,   y[i + D/2] = x[i + D/2] · cos a + x[i] · sin a,   i < D/2
///   x, y (B,T,H+2K,D), which may be the same memory; D even; inverse: turns back
template <class T>
struct Rotate final {
  static constexpr const char* name = "rotate";
  View<T> x, y;
  AttentionShape shape;
  RotaryFrequencies frequencies;
  std::size_t first = 0;
  bool inverse = false;

  constexpr Cost cost() const {
    const double channels = double(shape.batch * shape.length * shape.width),
                 turned = double(shape.heads + shape.of_keys());
    return {3 * turned * channels,
            2 * (x.offset == y.offset ? turned : double(shape.all_heads())) * channels * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
