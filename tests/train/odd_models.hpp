// tests/train/odd_models.hpp — small networks that strain the walkers, shared by the tests of plan and step.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/programs/recipe.hpp>

namespace regimen::test {

using Drop = Dropout<Ratio<1, 8>>;
using Table = Embedding<Vocabulary<11>, 16>;
template <std::size_t Depth>
using Blocks = Repeat<Depth, Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal, Drop>, Drop>,
                                        Residual<LayerNorm, Linear<64>, Gelu, Linear<16>, Drop>>>;
template <std::size_t Depth>
struct Gpt final : Model<Input<Tokens<8>>, Table, PositionEmbedding, Drop, Blocks<Depth>, LayerNorm, Linear<11>> {};
template <std::size_t Depth>
struct Tied final : Model<Input<Tokens<8>>, Table, PositionEmbedding, Blocks<Depth>, LayerNorm, TiedLinear<Table>> {};

struct PostNorm final : Model<Input<Tokens<8>>, Table, PositionEmbedding, LayerNorm,
                              Repeat<5, Sequential<Residual<SelfAttention<Heads<2>>, Drop>, LayerNorm,
                                                   Residual<Linear<32>, Gelu, Linear<16>>, LayerNorm>>,
                              Drop, TiedLinear<Table>> {};
/// Branches that begin with a Linear and end with a norm.
struct NormsLast final : Model<Input<Tokens<8>>, Table, PositionEmbedding, Drop,
                               Repeat<3, Sequential<Residual<SelfAttention<Heads<2>, Causal, Drop>, Drop, LayerNorm>,
                                                    Residual<Linear<64>, Gelu, Linear<16>, LayerNorm>>>,
                               Linear<11>> {};
struct Nested final : Model<Input<Tokens<8>>, Table, PositionEmbedding,
                            Repeat<3, Repeat<4, Sequential<Residual<LayerNorm, Linear<32>, Gelu, Linear<16>, Drop>>>>,
                            LayerNorm, TiedLinear<Table>> {};
struct Surrounded final
    : Model<Input<Tokens<8>>, Table, Residual<Repeat<5, Sequential<Linear<16>, Gelu, Drop>>, Linear<16>>, LayerNorm,
            TiedLinear<Table>> {};
struct ReadsLittle final : Model<Input<Tokens<8>>, Table, Repeat<6, Drop>, Repeat<7, Residual<Drop, Gelu>>, Gelu,
                                 Repeat<5, Sequential<PositionEmbedding, Gelu>>, LayerNorm, Linear<11>> {};
struct FollowedByNothing final : Model<Input<Tokens<8>>, Table, Blocks<4>, Repeat<2, Gelu>, Linear<11>> {};
struct Mixed final : Model<Input<Tokens<8>>, Table, PositionEmbedding,
                           Repeat<4, Residual<As<fp32, LayerNorm>, Linear<32>, Gelu, Linear<16>>>, As<fp32, LayerNorm>,
                           As<fp32, Linear<11>>> {};
struct Mlp final : Model<Input<Image<6, 4, 1>>, Flatten, Linear<32>, Relu, Drop, Linear<32>, Relu, Linear<5>> {};

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
