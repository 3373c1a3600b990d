// A whole program around an Inference that trains: one error, whatever else the program contains.
// expect: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution
// names: regimen::Optimizer<regimen::AdamW
#include <regimen/regimen.hpp>

using namespace regimen;

using Attend = SelfAttention<Heads<2>, Causal>;
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, Attend>>, Linear<16>> {};

#ifndef REGIMEN_MISUSE
using Model16 = Inference<Net, Batch<1>>;
#else
using Model16 = Inference<Net, Batch<1>, Optimizer<AdamW>>;
#endif

static_assert(Model16::decodes && Model16::plan().peak < 1_GiB);

int main() {
  Model16 model{"net.safetensors", 2};
  const std::vector<std::int32_t> prompt(Model16::input_size);
  std::vector<float> logits = model.predict({prompt.data(), prompt.size()});
  logits = model.start({prompt.data(), 1});
  logits = model.next(prompt[0]);
  for (const HeldParameter& parameter : model.parameters()) {
    parameter.visit([](auto values) { std::printf("%zu\n", values.size()); });
    if (parameter.element == ElementType::float32) parameter.values<float>()[0] = 0;
  }
  model.parameters_changed();
  const std::vector<std::int32_t> text = generate(model, prompt, 20, {.temperature = 0.8});
  model.load({"other.safetensors"});
  std::printf("%zu %zu %zu %f\n", text.size(), model.used().peak, Model16::plan(4).peak, static_cast<double>(logits[0]));
}
