// tests/support/small_gpt.hpp — a GPT of 2 × 32 that a GPU, emulated or not, trains beside the CPU.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>

namespace support {

using SmallBlock = regimen::Sequential<
    regimen::Residual<regimen::LayerNorm, regimen::SelfAttention<regimen::Heads<2>, regimen::Causal>>,
    regimen::Residual<regimen::LayerNorm, regimen::Linear<64>, regimen::GeluTanh, regimen::Linear<32>,
                      regimen::Dropout<regimen::Ratio<1, 10>>>>;
struct SmallGpt final : regimen::Model<regimen::Input<regimen::Tokens<16>>,
                                       regimen::Embedding<regimen::Vocabulary<64>, 32>, regimen::PositionEmbedding,
                                       regimen::Repeat<2, SmallBlock>, regimen::LayerNorm, regimen::Linear<64>> {};

}  // namespace support
// SPDX-License-Identifier: Apache-2.0
