// examples/06_ranks.cpp — lesson 6: lesson 1 on several ranks; each keeps a slice of weights, gradients and state.
//
//   ranks --ranks 4                                           four threads of this process
//   torchrun --no-python --nproc-per-node 4 -- ranks          four processes; under Slurm: srun -n 4 ranks
//   mpirun -n 4 --bind-to none ranks_mpi                      the same file, built with MPI
//   torchrun --no-python --nproc-per-node 4 -- ranks_gpu      the same file, compiled by nvcc: a GPU for each rank
//
// On CPUs all of these train the same bits, and so does every Shard; docs/ranks.md explains each step.
#include "gpt.hpp"
#include "ranks.hpp"

#if defined(__CUDACC__)
#include <regimen/engine/cuda/device.hpp>
#endif

using namespace regimen;

using Block = Sequential<
    Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,               // (B,64,128)
    Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;           // (B,64,128)
struct Gpt : Model<Input<Tokens<64>>,
                   Embedding<Vocabulary<256>, 128>, PositionEmbedding,  // (B,64,128)
                   Repeat<4, Block>, LayerNorm,
                   Linear<256>> {};                                     // (B,64,256)

// Of the 16 samples per step in lesson 1, each of four ranks takes 4. Try:
// Shard<Replicated>, Shard<ZeRO1>, Shard<ZeRO2>.
template <class Who>
int learn(int argc, char** argv) { return gpt<Gpt, Batch<4>, Communicator<Who>, Shard<ZeRO3>>(argc, argv); }

int main(int argc, char** argv) {
#if defined(__CUDACC__)
  return gpt<Gpt, Batch<4>, Communicator<Nccl>, Shard<ZeRO3>, Device<Cuda>>(argc, argv);
#elif REGIMEN_HAS_MPI
  return learn<Mpi>(argc, argv);
#else
  return program::run([&] { return program::is_one_of_many() ? learn<Tcp>(argc, argv) : learn<Threads>(argc, argv); });
#endif
}
// SPDX-License-Identifier: Apache-2.0
