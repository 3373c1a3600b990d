// An update rule of whole matrices, under a Shard that keeps slices.
// expect: this update rule looks at whole tensors, and Shard<\.\.\.> keeps slices of them; write Shard<Replicated>
// names: rules::Orthogonal
// names: regimen::Shard<regimen::ZeRO2
#include "../support/recipe.hpp"
#include "../support/whole_tensor_rules.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<rules::Orthogonal>, Communicator<Threads>, Shard<Replicated>>;
#else
using Train = Trainer<Net, Optimizer<rules::Orthogonal>, Communicator<Threads>, Shard<ZeRO2>>;
#endif

int main() { return sizeof(Train) == 0; }
