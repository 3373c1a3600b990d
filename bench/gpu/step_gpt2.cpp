// bench/gpu/step_gpt2.cpp — GPT-2 of 124 M parameters in bf16, 16 texts of 1,024 tokens.
#include "step.hpp"

#include <regimen/models/gpt2.hpp>

namespace {
using namespace bench;

template <class Form>
using Train =
    Trainer<Gpt2Small, Batch<16>, Optimizer<AdamW>, Init<Gpt2>, Precision<bf16, fp32>, Attention<Form>, Device<Where>>;

/// With cuDNN's attention where there is cuDNN, as in PyTorch, and composed.
template <bool has_cudnn>
void in_each_form() {
  if constexpr (has_cudnn) attempt("cuDNN", [] { step<Train<Cudnn>>("gpt2_124m", "bf16", 10, "regimen, cuDNN"); });
  attempt("composed", [] { step<Train<Composed>>("gpt2_124m", "bf16", 10, "regimen, composed"); });
}
void all(bool) { in_each_form<cuda::has_cudnn>(); }

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, all); }
// SPDX-License-Identifier: Apache-2.0
