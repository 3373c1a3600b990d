// Ranks that are connected by NCCL, and compute on a CPU.
// expect: Communicator<Nccl> connects GPUs; write Device<Cuda>, or Communicator<Threads>, <Tcp> or <Mpi>
// names: regimen::Device<regimen::Cpu>
#include "../support/recipe.hpp"

#include <regimen/comm/tcp.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Tcp>>;
#else
using Train = Trainer<Net, Communicator<Nccl>>;
#endif

int main() { return sizeof(Train) == 0; }
