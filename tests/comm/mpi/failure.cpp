// Under MPI a failure ends the job, and standard error says who and why.
// mpirun 3 hang 1 => no sign of ranks? [0-9 and]*1[0-9 and]* within 1 s
// mpirun 3 throw 1 => rank 1 failed: the reason
// mpirun 3 unwind 2 => rank 2 failed: an exception
// mpirun 3 kill 2 => exited on signal 9
// mpirun 3 absent 1 => Mpi: expected all ranks of the job to call MPI_Init within 1 s, found some that do not come
// mpirun 3 part 1 => Mpi: expected all 3 ranks of its communicator to make an Mpi, as rank [02] of 3 does, within 1 s, found some
// mpirun 2 other 1 => (rank 0 of 2, all_gather number 0 .*no sign of rank 1|rank 1 of 2, barrier number 0: .*no sign of rank 0)
#include <regimen/comm/mpi.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

int main(int, char** argv) {
  const std::string what = argv[1];
  const std::size_t who = std::strtoul(argv[2], nullptr, 10);
  if (what == "absent" && std::strtoul(std::getenv("OMPI_COMM_WORLD_RANK"), nullptr, 10) == who)
    return std::this_thread::sleep_for(std::chrono::seconds(30)), 0;
  if (what != "absent") {  // processes may start one after the other: the deadline is for what comes then
    int rank = 0, level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (what == "part" && static_cast<std::size_t>(rank) == who)
      return std::this_thread::sleep_for(std::chrono::seconds(30)), 0;
  }
  try {
    regimen::comm::Mpi world(std::chrono::milliseconds(1000));
    const bool me = world.rank() == who;
    std::array<std::byte, 64> all{};
    if (me && what == "hang") std::this_thread::sleep_for(std::chrono::seconds(30));
    if (me && what == "throw") world.leave("the reason");
    if (me && what == "unwind") throw std::runtime_error("not said");
    if (me && what == "kill") ::raise(SIGKILL);
    if (me && what == "other") world.barrier();
    world.all_gather(all.data() + 8 * world.rank(), all.data(), 8);
    world.barrier();
  } catch (const std::exception&) { return 1; }
  return 0;
}
