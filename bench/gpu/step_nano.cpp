// bench/gpu/step_nano.cpp — nanoGPT's small setting: 12 texts of 64 tokens, so that launches decide.
#include "step.hpp"

namespace {
using namespace bench;

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
                         Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;
struct GptNano : Model<Input<Tokens<64>>, Embedding<Vocabulary<65>, 128>, PositionEmbedding, Repeat<4, Block>,
                       LayerNorm, Linear<65>> {};

template <class... Policies>
using Train = Trainer<GptNano, Batch<12>, Optimizer<AdamW>, Init<Gpt2>, Device<Where>, Policies...>;

void all(bool small) {
  attempt("fp32", [&] { step<Train<>>("gpt_nano", "fp32", small ? 0 : 5); });
  attempt("bf16", [&] { step<Train<Precision<bf16, fp32>>>("gpt_nano", "bf16", small ? 0 : 5); });
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, all); }
// SPDX-License-Identifier: Apache-2.0
