// regimen/comm/rendezvous.hpp — the rank and world of a process, from the launcher's environment variables.
#pragma once

#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace regimen::comm {

enum class Launcher : unsigned char { Alone, Torchrun, OpenMpi, Slurm };
constexpr const char* name_of_launcher(Launcher launcher) {
  constexpr const char* names[] = {"no launcher", "torchrun", "Open MPI", "Slurm"};
  return names[static_cast<std::size_t>(launcher)];
}

/// A process's rank among `size`; without a launcher, rank 0 of 1.
struct Membership final {
  Launcher launcher = Launcher::Alone;
  std::size_t rank = 0, size = 1;
  std::optional<std::size_t> local_rank;  // on its machine; empty if the launcher does not give it
  std::string address;                    // where rank 0 listens for comm::Tcp; empty if not given
  std::uint16_t port = 0;                 // likewise; 0 if not given
  std::string said;                       // "RANK=1, WORLD_SIZE=4": the variables that were used
};

/// The value of an environment variable, or null.
using Look = std::function<const char*(const char* name)>;

/// The World that the environment describes.
///
///   torchrun   RANK, WORLD_SIZE, LOCAL_RANK; MASTER_ADDR and MASTER_PORT, which are required
///   Open MPI   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK
///   Slurm      SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID; rank 0 is on the first host of SLURM_STEP_NODELIST
///
/// The first launcher in this list whose variables are set decides. torchrun and mpirun may run inside Slurm's
/// tasks, so Slurm's variables may differ; torchrun's and Open MPI's must agree. For Open MPI and Slurm,
/// MASTER_ADDR and MASTER_PORT are used if they are set. Slurm gives no port: it is 10000 + (1000 · step + job) mod
/// 20000, below the ephemeral ports.
/// If TORCHELASTIC_USE_AGENT_STORE=True, torchrun itself listens on MASTER_PORT, and rank 0 listens on the next port.
/// REGIMEN_PORT, if set, overrides the port.
///
/// failure  Error that names the variables and their values: one is missing, not a number, or contradicts another
/// source   torch.distributed.run, "Environment Variables"; srun(1), "OUTPUT ENVIRONMENT VARIABLES"; mpirun(1)
Membership world_from(const Look& look);

/// The secret that only the ranks of a run know: REGIMEN_SECRET, read through `look`; empty if it is not set.
///
///   REGIMEN_SECRET=$(openssl rand -hex 32)        the same for all ranks
///
/// failure  Error, without the secret's text, if it has fewer than 16 characters: short secrets can be found by trying
///          all of them against a recorded handshake
std::string secret_from(const Look& look);

/// world_from this process's environment.
Membership world_of_environment();
std::string secret_of_environment();

/// The cures of refuse_other_ranks.
inline constexpr const char* cure_of_solo = "choose another Communicator than Solo, or start it without the launcher";
inline constexpr const char* cure_of_own_ranks =
    "choose Communicator<Tcp> without launch, or start it without the launcher";

/// For a program of one rank, or one that makes its ranks itself: does nothing if the environment names no other ranks.
///
/// failure  Error, with the cure, if a launcher started this process as one of several: each would train alone on the
///          same data, and overwrite the files of the others
void refuse_other_ranks(const Membership& world, const char* cure = cure_of_solo);

}  // namespace regimen::comm

#if !REGIMEN_COMPILED
#include <regimen/comm/rendezvous.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
