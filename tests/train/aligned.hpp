// tests/train/aligned.hpp — networks of odd sizes, and a device without gaps between parameters.
#pragma once

#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>

namespace regimen::test {

/// The emulated device, but for the gaps: parameters lie one behind the other.
struct Packed final {
  using option_of = axis::device;
};

}  // namespace regimen::test

template <>
struct regimen::engines::Of<regimen::test::Packed> {
  template <class Choices>
  struct with {
    using type = cuda::Engine<emulated::Runtime, Choices>;
    struct Traits : type::Traits {
      static constexpr std::size_t parameter_alignment = 1;
    };
  };
  using type = with<DefaultChoices>::type;
  using Traits = with<DefaultChoices>::Traits;
};

namespace regimen::test {

using UnevenTable = Embedding<Vocabulary<13>, 9>;
struct UnevenGpt final : Model<Input<Tokens<5>>, UnevenTable, PositionEmbedding,
                               Repeat<3, Sequential<Residual<LayerNorm, Linear<27>, Linear<9>>,
                                                    Residual<LayerNorm, Linear<15>, Gelu, Linear<9>>>>,
                               LayerNorm, TiedLinear<UnevenTable>> {};
/// Repeats inside of units, and layers of two element types in one.
struct UnevenMlp final
    : Model<Input<Vector<7>>, Linear<9>, LayerNorm,
            Residual<Repeat<2, Sequential<Linear<9>, As<fp32, RmsNorm>, Relu>>, Linear<9>>, Gelu, Linear<5>> {};

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
