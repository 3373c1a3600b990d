// regimen/policy/communicator.hpp — how ranks speak to one another.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen {

/// One rank, which owns everything: gathering and reducing cost nothing.
struct Solo final {
  using option_of = regimen::axis::communicator;
};

/// Ranks that are threads, MPI processes, Gloo processes, GPUs. Declared; refused until they are built.
struct Threads final {
  using option_of = regimen::axis::communicator;
};
struct Mpi final {
  using option_of = regimen::axis::communicator;
};
struct Gloo final {
  using option_of = regimen::axis::communicator;
};
struct Nccl final {
  using option_of = regimen::axis::communicator;
};

/// Decides who the other ranks are.
///
///   choices   Communicator<Solo>
///   default   Communicator<Solo>
///   refuses   Threads, Mpi, Gloo and Nccl for now
template <class Ranks>
struct Communicator final {
  using axis = regimen::axis::communicator;
  using ranks = Ranks;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
