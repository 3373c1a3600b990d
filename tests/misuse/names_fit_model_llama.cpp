// The names of a Llama for a vision transformer.
// expect: the names do not fit the model's tensors; map each, in order, in its shape, or as absent\(\.\.\.\)
// names: Net
#include <regimen/models/llama.hpp>
#include <regimen/models/vit.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Small : VitOf {
  static constexpr std::size_t image = 32, width = 48, heads = 3, depth = 2, classes = 5;
};
struct Net : VitModel<Small> {};

#ifndef REGIMEN_MISUSE
void load(Inference<Net, Batch<1>>& model) { names::load<timm::vit_names<Net>>(model, "model.safetensors"); }
#else
void load(Inference<Net, Batch<1>>& model) { names::load<hugging_face::llama_names<Net>>(model, "model.safetensors"); }
#endif
