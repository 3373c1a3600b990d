// examples/ranks.hpp — starts the ranks of a program whose recipe names a Communicator, each with a Trainer.
#pragma once

#include <regimen/comm/launch.hpp>
#include <regimen/comm/mpi.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/comm/tcp.hpp>

#include "session.hpp"

#include <cstdint>
#include <exception>
#include <string>

namespace program {

/// Whether a launcher started this process as one of several. Throws Error if the environment
/// is incomplete or contradictory.
inline bool is_one_of_many() { return regimen::comm::world_of_environment().size > 1; }

/// The part that all communicators share: an option, and one rank's work.
class ManyRanks {
 public:
  ManyRanks(CommandLine& line, Options& options) { line.add("--log-of", options.log_of, "Who writes a log: rank 0 alone, or all, rank R to FILE.R", {"first", "all"}); }

 protected:
  /// body(trainer). If it throws, the other ranks get the reason.
  template <class Train>
  static int one(auto& communicator, const typename Train::Options& settings, const auto& body) {
    Train trainer(communicator, settings);
    try {
      return body(trainer);
    } catch (const regimen::comm::PeerError&) {
      throw;   // after telling the others
    } catch (const std::exception& error) {
      communicator.leave(error.what());
      throw;
    }
  }
};

/// Starts --ranks threads of this process as ranks.
template <class Train>
class Ranks<Train, regimen::Threads> : ManyRanks {
 public:
  Ranks(CommandLine& line, Options& options) : ManyRanks(line, options) { line.add("--ranks", count_, "Ranks, each a thread with its share of the cores", 1); }

  int train(const typename Train::Options& settings, const auto& body) const {
    int code = failed;
    regimen::launch(count_, [&](regimen::comm::Threads& communicator) {
      const int own = one<Train>(communicator, settings, body);
      if (communicator.rank() == 0) code = own;
    });
    return code;
  }

 private:
  std::uint64_t count_ = 2;
};

/// This process is one of the ranks that torchrun or Slurm started; without a launcher the only rank. For programs that
/// choose among several Trainers when they run.
class TcpRanks : ManyRanks {
 public:
  using ManyRanks::ManyRanks;

  template <class Train>
  int train(const typename Train::Options& settings, const auto& body) const {
    regimen::comm::Tcp communicator(regimen::comm::tcp_options(regimen::comm::world_of_environment(), 0));
    return one<Train>(communicator, settings, body);
  }
};
template <class Train>
class Ranks<Train, regimen::Tcp> : TcpRanks {
 public:
  using TcpRanks::TcpRanks;

  int train(const typename Train::Options& settings, const auto& body) const { return TcpRanks::template train<Train>(settings, body); }
};

/// The same with a GPU for each rank: the processes agree by TCP, and tensors go from GPU to GPU.
template <class Train>
class Ranks<Train, regimen::Nccl> : public Ranks<Train, regimen::Tcp> {
 public:
  using Ranks<Train, regimen::Tcp>::Ranks;
};

#if REGIMEN_HAS_MPI
/// This process is one of the ranks that mpirun started; without mpirun the only rank.
template <class Train>
class Ranks<Train, regimen::Mpi> : ManyRanks {
 public:
  using ManyRanks::ManyRanks;

  int train(const typename Train::Options& settings, const auto& body) const {
    const auto world = regimen::comm::world_of_environment();
    std::size_t ranks = 1;
    {
      regimen::comm::Mpi communicator;
      ranks = communicator.size();
      if (world.size == 1 || world.size == ranks) return one<Train>(communicator, settings, body);
    }
    throw regimen::Error("MPI", std::to_string(world.size) + " ranks, as the environment says (" + world.said + ")", std::to_string(ranks),
                         "start it with mpirun, or choose Communicator<Tcp>");
  }
};
#endif

}  // namespace program
// SPDX-License-Identifier: Apache-2.0
