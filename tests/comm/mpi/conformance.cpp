// Mpi does what every communicator does. (The conformance suite, in 2 and 4 processes.)
// mpirun 1
// mpirun 2
// mpirun 4
#include <regimen/comm/mpi.hpp>

#include "comm/conformance.hpp"
#include "comm/wrappers.hpp"

#include <cstdio>

int main() {
  try {
    regimen::comm::Mpi world(std::chrono::seconds(60));
    conformance::conform(world);
    conformance::in_background(world);
    conformance::counts(world);
    if (world.rank() == 0) std::printf("%zu ranks conform\n", world.size());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
