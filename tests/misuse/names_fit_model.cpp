// A mapping to another library's names leaves a tensor of the model out.
// expect: the names do not fit the model's tensors; map each, in order, in its shape, or as absent\(\.\.\.\)
// names: Net
#include <regimen/models/names.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<2>> {};
#ifndef REGIMEN_MISUSE
constexpr auto their_names = names::list(names::layer("fc1"), names::layer("fc2"));
#else
constexpr auto their_names = names::list(names::layer("fc1"), names::tensor("fc2.weight"));
#endif

void save(Inference<Net, Batch<1>>& model) { names::save<their_names>(model, "model.safetensors"); }
