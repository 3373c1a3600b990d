// A rank that fails while it trains, in any phase, ends the job, and standard error says which.
// mpirun 3 throw data 0 => rank 0 failed: this sample is bad
// mpirun 3 throw data 2 => rank 2 failed: this sample is bad
// mpirun 3 throw step 1 => rank 1 failed: callback 1 of fit, told of step [0-9]+: this sample is bad
// mpirun 2 throw step 0 => rank 0 failed: callback 1 of fit, told of step [0-9]+: this sample is bad
// mpirun 3 throw evaluation 2 => rank 2 failed: this sample is bad
// mpirun 3 throw save 0 => rank 0 failed: .*File too large
// mpirun 3 throw save 1 => rank 1 failed: .*File too large
// mpirun 3 hang data 1 => no sign of ranks? [0-9 and]*1[0-9 and]* within 2 s
// mpirun 2 hang step 0 => no sign of rank 0 within 2 s
// mpirun 3 hang evaluation 0 => no sign of ranks? [0-9 and]*0[0-9 and]* within 2 s
// mpirun 3 hang save 2 => no sign of ranks? [0-9 and]*2[0-9 and]* within 2 s
// mpirun 3 kill data 2 => exited on signal 9
// mpirun 3 kill step 0 => exited on signal 9
// mpirun 2 kill save 1 => exited on signal 9
#include <regimen/comm/mpi.hpp>

#include "train/failing_ranks.hpp"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

using namespace regimen;

using Train = Trainer<test::Tied<3>, Batch<2>, Communicator<Mpi>, Shard<ZeRO3>>;

int main(int, char** argv) {
  const std::string way = argv[1], where = argv[2];
  const std::size_t who = std::strtoul(argv[3], nullptr, 10);
  std::size_t phase = 0;
  while (phase < test::phases && where != test::name_of_phase[phase]) ++phase;
  // Nobody is left to remove it: it lies where the test runs, and the next run begins anew.
  const std::string folder = "mpi_train_failure_" + way + "_" + where + "_" + argv[3], path = folder + "/state";
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);  // the deadline is for what comes then
  try {
    comm::Mpi world(std::chrono::seconds(way == "hang" ? 2 : 60));
    if (world.rank() == 0) {
      std::filesystem::remove_all(folder);
      std::filesystem::create_directory(folder);
    }
    world.barrier();
    test::train_and_save<Train>(world, path, false);
    const auto fail = [&] {
      if (way == "hang") std::this_thread::sleep_for(std::chrono::seconds(30));
      if (way == "kill") ::raise(SIGKILL);
      if (where != "save") throw std::runtime_error("this sample is bad");
      const ::rlimit limit{4096, 4096};  // in the middle of a save only the system can make it fail
      std::signal(SIGXFSZ, SIG_IGN);
      ::setrlimit(RLIMIT_FSIZE, &limit);
    };
    test::train_until_failure<Train>(world, path, static_cast<test::Phase>(phase),
                                     world.rank() == who ? fail : std::function<void()>{}, path);
  } catch (const std::exception&) { return 1; }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
