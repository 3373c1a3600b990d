// Ranks that would sum scaled gradients in fp16.
// expect: ranks would add scaled gradients in 16 bits; write Precision<fp16, fp32, fp32>
// names: regimen::LossScale<regimen::Dynamic>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32, fp32>, LossScale<Dynamic>, Communicator<Threads>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32, fp16>, LossScale<Dynamic>, Communicator<Threads>>;
#endif

int main() { return sizeof(Train) == 0; }
