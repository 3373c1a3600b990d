// A communicator that is not built yet.
// expect: this communicator is not built; write Communicator<Threads>, <Tcp> or <Mpi>, or leave it out for one rank
// names: regimen::Communicator<regimen::Nccl>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>>;
#else
using Train = Trainer<Net, Communicator<Nccl>>;
#endif

int main() { return sizeof(Train) == 0; }
