// regimen/comm/rendezvous.ipp — the bodies of rendezvous.hpp.
#pragma once

#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>

#include <cstdlib>
#include <limits>
#include <string_view>

namespace regimen::comm::detail {

/// Reads variables, and remembers their values for errors.
class Variables final {
 public:
  explicit Variables(const Look& look) : look_(look) {}

  std::optional<std::string> text(const char* name) const {
    const char* const value = look_(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  std::optional<std::size_t> number(const char* name,
                                    std::size_t most = (std::numeric_limits<std::uint32_t>::max)()) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    const std::optional<std::size_t> result = regimen::detail::number_of<std::size_t>(*value);
    if (!result || *result > most) {
      throw Error(said(name), "a whole number from 0 to " + std::to_string(most), "\"" + *value + "\"",
                  "correct it, or unset it");
    }
    return result;
  }

  /// "RANK=1", or "RANK is not set".
  std::string said(const char* name) const {
    const std::optional<std::string> value = text(name);
    return value ? std::string(name) + "=" + *value : std::string(name) + " is not set";
  }
  std::string said(const char* first, const char* second) const { return said(first) + ", " + said(second); }

  /// Rank, size and local rank from one launcher's variables; nothing if neither rank nor size is set.
  std::optional<Membership> world(Launcher launcher, const char* rank, const char* size, const char* local) const {
    const std::optional<std::size_t> r = number(rank), n = number(size), l = number(local);
    if (!r && (!n || *n == 1)) return std::nullopt;  // salloc -n 1 sets only the size
    const std::string both = said(rank, size);
    if (!r || !n) {
      throw Error(both, std::string(rank) + " and " + size + " together",
                  r ? std::string(rank) + " alone" : std::string(size) + " alone",
                  "start the program with its launcher, or unset both");
    }
    if (*n == 0)
      throw Error(both, std::string(size) + " of at least 1", "0",
                  "it counts all ranks; start the program with its launcher, or unset both");
    if (*r >= *n)
      throw Error(both, std::string(rank) + " below " + size, std::to_string(*r) + " of " + std::to_string(*n),
                  "ranks count from 0");
    if (l && *l >= *n)
      throw Error(said(size, local), std::string(local) + " below " + size, std::to_string(*l), "ranks count from 0");
    return Membership{.launcher = launcher, .rank = *r, .size = *n, .local_rank = l, .address = {}, .said = both};
  }

 private:
  const Look& look_;
};

/// The first host of a Slurm list: "node[03-05,07],gpu1" begins with node03.
REGIMEN_INLINE std::string first_host(std::string_view list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const std::size_t close = list.find(']', i);
    if (close == std::string_view::npos) return {};
    const std::string_view inside = list.substr(i + 1, close - i - 1);
    host += inside.substr(0, inside.find_first_of(",-"));
    i = close;
  }
  return host;
}

}  // namespace regimen::comm::detail

namespace regimen::comm {

REGIMEN_INLINE Membership world_from(const Look& look) {
  const detail::Variables variables(look);
  const std::optional<Membership> torchrun = variables.world(Launcher::Torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK");
  const std::optional<Membership> mpi =
      variables.world(Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK");
  if (torchrun && mpi && (torchrun->rank != mpi->rank || torchrun->size != mpi->size)) {
    throw Error("the environment", "one launcher, or two that agree", torchrun->said + " and " + mpi->said,
                "unset the variables of the launcher that did not start this program");
  }
  const std::optional<Membership> said =
      torchrun ? torchrun
      : mpi    ? mpi
               : variables.world(Launcher::Slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
  if (!said) return {};

  Membership world = *said;
  world.address = variables.text("MASTER_ADDR").value_or("");
  constexpr std::size_t ports = 65535;
  const std::size_t port = variables.number("MASTER_PORT", ports).value_or(0);
  world.port = static_cast<std::uint16_t>(port);
  if (world.launcher == Launcher::Torchrun && !mpi && world.size > 1 && (world.address.empty() || port == 0)) {
    throw Error(world.said, "MASTER_ADDR and MASTER_PORT, where rank 0 is to be found",
                variables.said("MASTER_ADDR", "MASTER_PORT"), "torchrun sets them; by hand, give all ranks the same");
  }
  if (world.launcher == Launcher::Slurm) {
    if (world.address.empty()) {
      const std::string list = variables.text("SLURM_STEP_NODELIST").value_or("");
      world.address = detail::first_host(list);
      if (world.size > 1 && world.address.empty()) {
        throw Error(world.said, "SLURM_STEP_NODELIST with a host, or MASTER_ADDR",
                    variables.said("SLURM_STEP_NODELIST"), "start the program with srun");
      }
    }
    if (port == 0) {
      const std::size_t job = variables.number("SLURM_JOB_ID").value_or(0),
                        step = variables.number("SLURM_STEP_ID").value_or(0);
      world.port = static_cast<std::uint16_t>(10000 + (job + 1000 * step) % 20000);
    }
  }
  if (port != 0 && variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True") {
    if (port == ports)
      throw Error(variables.said("MASTER_PORT"),
                  "a port below 65535, as torchrun itself listens on it and rank 0 takes the next", "65535");
    world.port = static_cast<std::uint16_t>(port + 1);
  }
  if (const std::optional<std::size_t> own = variables.number("REGIMEN_PORT", ports))
    world.port = static_cast<std::uint16_t>(*own);
  return world;
}

REGIMEN_INLINE std::string secret_from(const Look& look) {
  const std::optional<std::string> secret = detail::Variables(look).text("REGIMEN_SECRET");
  if (!secret) return {};
  if (secret->size() < 16) {
    throw Error("REGIMEN_SECRET", "16 characters at least that nobody can guess",
                std::to_string(secret->size()) + " characters",
                "make one with `openssl rand -hex 32` and give it to all ranks, or unset it");
  }
  return *secret;
}

REGIMEN_INLINE Membership world_of_environment() {
  return world_from([](const char* name) { return std::getenv(name); });
}
REGIMEN_INLINE std::string secret_of_environment() {
  return secret_from([](const char* name) { return std::getenv(name); });
}

REGIMEN_INLINE void refuse_other_ranks(const Membership& world, const char* cure) {
  if (world.size == 1) return;
  throw Error("the environment", "a program that knows of one rank to be started once",
              world.said + ": " + name_of_launcher(world.launcher) + " made it rank " + std::to_string(world.rank) +
                  " of " + std::to_string(world.size),
              cure);
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
