// Ranks of MPI train the bits that threads train.
// mpirun 2
// mpirun 4
#include <regimen/comm/mpi.hpp>

#include "train/ranks.hpp"

#include <cstdio>
#include <cstdlib>

using namespace regimen;

template <class Ranks, class Stage>
using Sharded = Trainer<test::Tied<3>, Batch<2>, Communicator<Ranks>, Shard<Stage>, Clip<Norm<Ratio<1, 4>>>>;

int main() {
  try {
    comm::Mpi world(std::chrono::seconds(60));
    regimen::set_threads(1);
    const test::Outcome own = test::train_as_rank<Sharded<Mpi, ZeRO3>>(false, 20, world);
    for (const char* const name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})
      ::unsetenv(name);  // else launch refuses to train alone
    const std::vector<test::Outcome> threads =
        test::outcomes_of_threads<Sharded<Threads, Replicated>>(world.size(), false, 20);
    bool same = own == threads[world.rank()] && own.as_planned && own.losses.size() == 20;
    if (world.size() % 2 == 0) same = same && test::train_as_rank<Sharded<Mpi, Hybrid<2>>>(false, 20, world) == own;
    std::printf("rank %zu of %zu %s\n", world.rank(), world.size(),
                same ? "trained the bits of the threads" : "trained other bits");
    return same ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
// SPDX-License-Identifier: Apache-2.0
