// A communicator that is not built yet.
// expect: this communicator is not built; write Communicator<Threads>, <Tcp>, <Mpi> or <Nccl>, or leave it out
// names: regimen::Communicator<regimen::Gloo>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>>;
#else
using Train = Trainer<Net, Communicator<Gloo>>;
#endif

int main() { return sizeof(Train) == 0; }
