// examples/01_gpt.cpp — lesson 1: a small GPT learns the bytes of a text within a minute or two.
//
//   examples/run.sh                     builds this and trains it on the project's own headers
//   gpt --data input.txt --steps 2000   another text
//   gpt --help                          all options
#include "gpt.hpp"

using namespace regimen;

// A block of a transformer: attention, then a two-layer network. Residual<...> is x + layers(x).
using Block = Sequential<
    Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,               // (B,64,128)
    Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;           // (B,64,128)

// Reads 64 bytes; for each of them gives 256 logits for the next byte. A struct, not an alias, keeps errors short.
struct Gpt : Model<Input<Tokens<64>>,
                   Embedding<Vocabulary<256>, 128>, PositionEmbedding,  // (B,64,128)
                   Repeat<4, Block>, LayerNorm,
                   Linear<256>> {};                                     // (B,64,256)

// Try: gpt<Gpt, Precision<bf16, fp32>>, gpt<Gpt, Batch<64>, Checkpoint<Every<1>>>, gpt<Gpt, Optimizer<Sgd>>,
// gpt<Gpt, Precision<fp16, fp32>> (a compile error names the missing policy).
int main(int argc, char** argv) { return gpt<Gpt>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
