// A part of the ranks, in an order of its own, conforms while the others do something else; the program's messages stay apart.
// mpirun 3
// mpirun 4
#include <regimen/comm/mpi.hpp>

#include "comm/conformance.hpp"

#include <cstdio>
#include <string>

using regimen::comm::Mpi;

namespace {

std::string error_of(MPI_Comm ranks) {
  try {
    const Mpi none(ranks, std::chrono::seconds(60));
  } catch (const regimen::Error& error) { return error.what(); }
  return "no error";
}
bool expect(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what);
  return holds;
}

}  // namespace

int main() {
  int level = 0, rank = 0, size = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool holds = true;
  try {
    // Odd ranks, backwards; even ones; and the last rank makes none.
    const bool takes_part = rank < size - 1;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? rank % 2 : MPI_UNDEFINED, -rank, &part);
    // Messages of the program, of every tag, on the communicator that it gives: sent at the end, awaited from here on.
    int said = 0, own_rank = 0, own_size = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (takes_part) {
      MPI_Comm_rank(part, &own_rank);
      MPI_Comm_size(part, &own_size);
      MPI_Irecv(&said, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, part, &request);
      Mpi ranks(part, std::chrono::seconds(60));
      holds = expect(ranks.rank() == static_cast<std::size_t>(own_rank), "the rank is the communicator's") && holds;
      holds = expect(ranks.size() == static_cast<std::size_t>(own_size), "the size is the communicator's") && holds;
      conformance::conform(ranks);
      const int word = 100 + own_rank;
      MPI_Send(&word, 1, MPI_INT, (own_rank + 1) % own_size, 3, part);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      holds = expect(said == 100 + (own_rank + own_size - 1) % own_size, "the program's message is its own") && holds;
    } else {
      holds = expect(error_of(part) ==
                         "Mpi: expected a communicator that has this rank, found MPI_COMM_NULL; make an Mpi on "
                         "the ranks of the communicator alone",
                     "no communicator is an Error") &&
              holds;
    }
    // One after the other: each of all ranks again, and of two groups, which is refused.
    {
      Mpi all(MPI_COMM_WORLD, std::chrono::seconds(60));
      all.barrier();
      holds = expect(all.size() == static_cast<std::size_t>(size), "all ranks") && holds;
    }
    MPI_Comm half = MPI_COMM_NULL, both = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 7, &both);
    holds = expect(error_of(both).find("one group of ranks, found an intercommunicator") != std::string::npos,
                   "two groups are an Error") &&
            holds;
    int finalized = 0;
    MPI_Finalized(&finalized);
    holds = expect(finalized == 0, "MPI is finalized by whom it was begun") && holds;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    holds = false;
  }
  MPI_Finalize();
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
