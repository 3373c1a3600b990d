// bench/gpu/step_gpt2.cpp — GPT-2 of 124 M parameters in bf16, 16 texts of 1,024 tokens.
#include "step.hpp"

#include <regimen/models/gpt2.hpp>

namespace bench {
namespace {

using Train = Trainer<Gpt2Small, Batch<16>, Optimizer<AdamW>, Init<Gpt2>, Precision<bf16, fp32>, Device<Where>>;

void all(bool) { step<Train>("gpt2_124m", "bf16", 20); }

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv, bench::all); }
// SPDX-License-Identifier: Apache-2.0
