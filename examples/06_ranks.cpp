// From one rank to four: the same program as threads, as processes that torchrun or Slurm started, and under mpirun.
//
//   ranks            four threads of this process
//   torchrun --no-python --nproc-per-node 4 ranks
//   mpirun -n 4 --bind-to none ranks          where it was built with MPI
//
// Every way, and under every Shard, it trains the same bits.
#include <regimen/comm/launch.hpp>
#include <regimen/comm/mpi.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/comm/tcp.hpp>
#include <regimen/regimen.hpp>

#include <cstdio>
#include <exception>

using namespace regimen;

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>, Residual<LayerNorm, Linear<256>, GeluTanh, Linear<64>>>;
struct Gpt : Model<Input<Tokens<32>>, Embedding<Vocabulary<64>, 64>, PositionEmbedding, Repeat<4, Block>, LayerNorm, Linear<64>> {};

template <class Ranks, class Stage>
using Train = Trainer<Gpt, Batch<4>, Communicator<Ranks>, Shard<Stage>>;

/// What one of so many ranks keeps from step to step, needs at most, and sends.
template <class Stage>
void show(const char* name, std::size_t ranks) {
  const MemoryPlan planned = Train<Threads, Stage>::plan(4, ranks);
  std::printf("%-10s  keeps %8zu bytes, needs %8zu, sends %8zu a step\n", name, planned.kept, planned.peak, planned.wire());
}

/// One rank of them; rank 0 tells.
template <class Ranks>
void train_as_one_of(auto& communicator) {
  if (communicator.rank() == 0) {
    show<Replicated>("Replicated", communicator.size());
    show<ZeRO1>("ZeRO-1", communicator.size());
    show<ZeRO2>("ZeRO-2", communicator.size());
    show<ZeRO3>("ZeRO-3", communicator.size());
  }
  Train<Ranks, ZeRO3> trainer(communicator);
  const Fitted fitted = trainer.fit(Fake({.samples = 4096, .classes = 64, .seed = 3}), {.steps = 30, .progress = false});
  if (communicator.rank() == 0)
    std::printf("trained     %zu ranks under ZeRO-3, used %zu bytes each, loss %.6f\n", trainer.ranks(), trainer.used().peak, fitted.loss);
}

int main() {
  try {
    const comm::Membership world = comm::world_of_environment();
    if (world.size == 1) {
      launch(4, [](comm::Threads& threads) { train_as_one_of<Threads>(threads); });
#if REGIMEN_HAS_MPI
    } else if (world.launcher == comm::Launcher::OpenMpi) {
      comm::Mpi mpi;
      train_as_one_of<Mpi>(mpi);
#endif
    } else {
      comm::Tcp tcp(comm::tcp_options(world, 0));
      train_as_one_of<Tcp>(tcp);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
