// examples/10_vit_fake.cpp — lesson 10: a vision transformer on made-up images, timed step by step, on one rank or many.
//
//   vit_fake                                                    a small one, in seconds
//   vit_fake --size whole                                       1.26 billion parameters: 257 positions, width 2560
//   torchrun --no-python --nproc-per-node 8 -- vit_fake         a rank for each process, each with a batch of 10
//
// Without torchrun: RANK and WORLD_SIZE for each process, and where the ranks are on several machines MASTER_ADDR and MASTER_PORT.
#include "vit.hpp"

#include <cstdlib>

using namespace regimen;

// The whole network with fewer and narrower blocks, and smaller images: 37 positions of width 320.
struct OfSmall : Vit1B::Of { static constexpr std::size_t image = 84, width = 320, heads = 2, depth = 2; };
struct Small : VitModel<OfSmall> {};

// Every rank has all weights. Try: Shard<ZeRO3>, Checkpoint<Every<1>>, Precision<bf16, fp32>; bench/vit_matrix has them all.
template <class Network>
using Train = Trainer<Network, Batch<10>, Optimizer<Adam>, Loss<CrossEntropy>, Communicator<Tcp>, Shard<Replicated>>;

/// Ranks that are told no address meet on this machine, at port 2222, as those of the script that this program follows. The library
/// has no such default: there it would connect ranks of several machines each with itself, or two runs with each other.
void meet_here() {
  if (std::getenv("RANK") == nullptr) return;   // Slurm and mpirun say by other variables where rank 0 is
  ::setenv("MASTER_ADDR", "localhost", false);
  ::setenv("MASTER_PORT", "2222", false);
}

int main(int argc, char** argv) {
  program::Options options{.steps = 20};
  std::string size = "small";
  program::CommandLine line("A vision transformer learns made-up images, a batch of 10 on every rank; each step is timed.", options, nullptr);
  line.add("--size", size, "Of the network", {"small", "whole"});
  const program::TcpRanks ranks(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  return program::run([&] {
    meet_here();
    if (size == "whole") return vit_lesson::timed<Train<Vit1B>>(ranks, options, options.trainer<Train<Vit1B>>(), 1);
    return vit_lesson::timed<Train<Small>>(ranks, options, options.trainer<Train<Small>>(), 1);
  });
}
// SPDX-License-Identifier: Apache-2.0
