// Hugging Face has no names for the weights of this model.
// expect: hugging_face names the weights of a Gpt2Model; derive the network from Gpt2Model<\.\.\.>
// names: Net
#include <regimen/models/gpt2.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Gpt2Model<32, 12, 16, 2, 2> {};
#else
struct Net : Model<Input<Tokens<12>>, Embedding<Vocabulary<32>, 16>, Linear<32>> {};
#endif

void save(Inference<Net, Batch<1>>& model) { hugging_face::save(model, "model.safetensors"); }
