// Attention by cuDNN in fp32.
// expect: Attention<Cudnn> computes in bf16 or fp16; write Precision<bf16, fp32>, or Attention<Composed>
// names: regimen::Attention<regimen::Cudnn>
#include <regimen/engine/cuda/plan.hpp>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Gpu {  // Device<Cuda>, in any compiler
  using option_of = axis::device;
};
template <>
struct regimen::engine::Of<Gpu> {
  template <class Choices>
  struct with {
    using Traits = cuda::Traits<cuda::library_workspace, 0, typename Choices::attention::form, false, true>;
    using type = PlanOnly<Traits>;
    using profiled = type;
  };
  using Traits = with<DefaultChoices>::Traits;
};

#ifndef REGIMEN_MISUSE
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Precision<bf16, fp32>, Attention<Cudnn>, Device<Gpu>>;
#else
struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, SelfAttention<Heads<2>>, Linear<16>> {};
using Train = Trainer<Words, Attention<Cudnn>, Device<Gpu>>;
#endif

int main() { return sizeof(Train) == 0; }
