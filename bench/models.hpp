// bench/models.hpp — the networks that are measured; bench/peers holds the same in PyTorch.
#pragma once

#include "../examples/gpt.hpp"
#include "../examples/mnist.hpp"

#include <regimen/rule/steps.hpp>

namespace bench {
using namespace regimen;

template <std::size_t Width, std::size_t HeadCount>
using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<HeadCount>, Causal>>,
                         Residual<LayerNorm, Linear<4 * Width>, GeluTanh, Linear<Width>>>;

/// nanoGPT's published setting for a CPU. Its output layer has weights and a bias of its own here, as in
/// bench/peers/gpt.py.
struct GptNano : Model<Input<Tokens<64>>, Embedding<Vocabulary<65>, 128>, PositionEmbedding, Repeat<4, Block<128, 4>>,
                       LayerNorm, Linear<65>> {};
struct Gpt256 : Model<Input<Tokens<128>>, Embedding<Vocabulary<256>, 256>, PositionEmbedding, Repeat<4, Block<256, 8>>,
                      LayerNorm, Linear<256>> {};
struct Mlp4096 : Model<Input<Vector<784>>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<10>> {};
struct Mlp64 : Model<Input<Vector<784>>, Linear<64>, Relu, Linear<64>, Relu, Linear<10>> {};

/// K22: what is measured is not debugged.
template <class... Policies>
inline constexpr bool measurable =
    sizeof(typename rule::measured_run_has_no_debug<typename ConfigurationOf<Policies...>::debug>::must_hold) > 0;

template <class Model, class... Policies>
int measure_gpt(int argc, char** argv) {
  static_assert(measurable<Policies...>);
  return gpt<Model, Policies...>(argc, argv);
}
/// The peers train with Adam.
template <class Model, class... Policies>
int measure_mlp(int argc, char** argv) {
  static_assert(measurable<Policies...>);
  return mnist<Model, Optimizer<Adam>, Policies...>(argc, argv);
}

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
