// All that takes an Inference beside its members, around one that trains: one error, whatever else the program contains.
// expect: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution
// names: regimen::Optimizer<regimen::AdamW
#include <regimen/regimen.hpp>

#include <regimen/models/gpt2.hpp>
#include <regimen/models/names.hpp>
#include <regimen/tune/ensemble.hpp>

using namespace regimen;

struct Gpt : Gpt2Model<16, 8, 8, 2, 1> {};

#ifndef REGIMEN_MISUSE
using Served = Inference<Gpt, Batch<1>>;
#else
using Served = Inference<Gpt, Batch<1>, Optimizer<AdamW>>;
#endif

constexpr auto of_gpt = names::list(
    names::layer("wpe"), names::repeat(1, "h.{}.", names::layer("ln_1"), names::layer("qkv"), names::layer("out"),
                                       names::layer("ln_2"), names::layer("up"), names::layer("down")),
    names::layer("ln_f"), names::tensor("wte.weight"));

int main() {
  Served model;
  names::load<of_gpt>(model, "gpt.safetensors");
  names::save<of_gpt>(model, "gpt.safetensors");
  hugging_face::load(model, "gpt2.safetensors");
  hugging_face::save(model, "gpt2.safetensors");
  const std::vector<std::int32_t> prompt{1}, text = generate(model, prompt, 3);

  Ensemble<Served> members({"a.safetensors", "b.safetensors"}, 2);
  std::vector<float> outputs = members.predict(prompt);
  outputs = members.probabilities(prompt);
  const Ensemble<Inference<Gpt>, Served> both({"a.safetensors", "b.safetensors"});
  std::printf("%zu %zu %f %zu\n", text.size(), outputs.size(), members.evaluate(Text("text")).loss, both.members());
}
