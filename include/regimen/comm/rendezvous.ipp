// regimen/comm/rendezvous.ipp — the bodies of rendezvous.hpp.
#pragma once

#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace regimen::comm::detail {

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

REGIMEN_INLINE void refuse_other_ranks(const Membership& world, const char* cure) {
  if (world.size == 1) return;
  throw Error("the environment", "a program that knows of one rank to be started once",
              world.said + ": " + name_of_launcher(world.launcher) + " made it rank " + std::to_string(world.rank) +
                  " of " + std::to_string(world.size),
              cure);
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
