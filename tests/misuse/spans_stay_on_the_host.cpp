// An update rule of whole tensors that computes on spans, on a GPU.
// expect: update_tensor computes on spans of the host; write it by operations, on TensorViews, or Device<Cpu>
// names: rules::MuonOnSpans
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"
#include "../support/muon.hpp"

using namespace regimen;

struct Words : Model<Input<Vector<8>>, Linear<16>, Gelu, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Optimizer<Muon>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Optimizer<rules::MuonOnSpans>, Device<Gpu<true>>>;
#endif

int main() { return sizeof(Train) == 0; }
