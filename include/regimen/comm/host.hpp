// regimen/comm/host.hpp — the hosts of ranks that have a device each: ranks that share one, how ranks end.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/control.hpp>
#include <regimen/core/file.hpp>
#include <regimen/core/philox.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <unistd.h>

namespace regimen::comm {

/// A hash of this host's name and of its last start: hosts of one name, such as containers, are told apart.
inline std::uint64_t hash_of_host() {
  char name[256] = {};
  (void)::gethostname(name, sizeof name - 1);
  const std::string start = regimen::detail::system_text("/proc/sys/kernel/random/boot_id");
  std::uint64_t hash = 0;
  for (const char letter : name + start) hash = Philox::mix(hash, static_cast<unsigned char>(letter));
  return hash;
}

/// How many of the ranks below this one run on its host. Every launcher, and threads, have the same answer.
inline std::size_t place_on_host(Control& ranks) {
  const std::vector<std::uint64_t> hosts = gather_small(ranks, hash_of_host());
  std::size_t place = 0;
  for (std::size_t r = 0; r < ranks.rank(); ++r) place += hosts[r] == hosts[ranks.rank()] ? 1 : 0;
  return place;
}

/// Throws if two ranks are threads of one process.
inline void expect_processes(Control& ranks, const char* who) {
  struct Process {
    std::uint64_t host, number;
  };
  const auto all = gather_small(ranks, Process{hash_of_host(), static_cast<std::uint64_t>(::getpid())});
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (all[a].host == all[b].host && all[a].number == all[b].number)
        throw Error(who, "a process for each rank",
                    "ranks " + std::to_string(b) + " and " + std::to_string(a) + " in one",
                    "start them with torchrun, srun or mpirun");
}

/// All ranks have failed and meet: the error names absent ranks. No other exchange gathers so many bytes, so none is
/// confused with it.
inline void meet_after_failure(Control& ranks) {
  struct Failure {
    std::byte bytes[24];
  };
  gather_small(ranks, Failure{});
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
