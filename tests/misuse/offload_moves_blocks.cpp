// Blocks to move to the host's memory, in a model of two.
// expect: Checkpoint<Offload> moves the blocks of a Repeat of 3 or more; this model trains none; write Selective<\.\.\.>
// names: regimen::Checkpoint<regimen::Offload>
#include "../support/model_recipe.hpp"

#include <regimen/engine/cuda/plan.hpp>

using namespace regimen;

struct Deep : Model<Input<Vector<8>>, Repeat<3, Residual<Linear<8>>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Checkpoint<Offload>, Batch<4>, Device<Cuda>>;
#else
using Train = Trainer<Net, Checkpoint<Offload>, Batch<4>, Device<Cuda>>;
#endif

int main() { return sizeof(Train) == 0; }
// SPDX-License-Identifier: Apache-2.0
