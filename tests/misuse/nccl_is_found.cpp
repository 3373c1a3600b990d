// Ranks with a GPU each, in a program that is compiled without NCCL.
// expect: this program has no NCCL; link CMake's regimen::nccl, or leave Communicator out for one rank
// names: regimen::Communicator<regimen::Nccl>
#include <regimen/engine/cuda/plan.hpp>
#include "../support/gpu_recipe.hpp"

using namespace regimen;

struct Words : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 16>, Linear<16>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Words, Communicator<Nccl>, Shard<ZeRO3>, Device<Gpu<true>>>;
#else
using Train = Trainer<Words, Communicator<Nccl>, Shard<ZeRO3>, Device<Gpu<true, false>>>;
#endif

int main() { return sizeof(Train) == 0; }
