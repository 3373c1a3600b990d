// regimen/comm/tcp.ipp — the bodies of tcp.hpp.
#pragma once

#include <regimen/comm/tcp.hpp>
#include <regimen/comm/tree.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>

namespace regimen::comm {

REGIMEN_INLINE Tcp::Tcp(const TcpOptions& options) : wire_(options), exceptions_(std::uncaught_exceptions()) {}

REGIMEN_INLINE Tcp::~Tcp() {
  if (std::uncaught_exceptions() > exceptions_) leave("an exception");
}

template <Number T>
void Tcp::reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams) {
  wire_.begin(CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T));
  const std::size_t members = teams.members(size()), here = teams.place(rank());
  const std::size_t most = chunk_bytes(members) / sizeof(T), chunk = count < most ? count : most,
                    lane = (chunk * sizeof(T) + 63) / 64 * 64;
  teams.for_each_other(rank(), size(), [&](std::size_t p, std::size_t r) {
    wire_.send(r, reinterpret_cast<const std::byte*>(all + p * count), count * sizeof(T));
    wire_.expect(r);
  });
  // The peers' chunks lie side by side in staging; this rank's own summands are read in place.
  // One chunk is summed at a time.
  const auto lane_of = [&](std::size_t p) { return staging + (p < here ? p : p - 1) * lane; };
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t now = chunk < count - at ? chunk : count - at;
    teams.for_each_other(rank(), size(),
                         [&](std::size_t p, std::size_t r) { wire_.window(r, lane_of(p), now * sizeof(T)); });
    wire_.run(false);
    tree_sum(
        [&](std::size_t p) { return p == here ? all + here * count + at : reinterpret_cast<const T*>(lane_of(p)); },
        members, own + at, now);
  }
  wire_.run(true);
}

#if REGIMEN_COMPILED
template void Tcp::reduce_scatter(const fp64*, fp64*, std::size_t, std::byte*, Teams);
template void Tcp::reduce_scatter(const fp32*, fp32*, std::size_t, std::byte*, Teams);
template void Tcp::reduce_scatter(const bf16*, bf16*, std::size_t, std::byte*, Teams);
template void Tcp::reduce_scatter(const fp16*, fp16*, std::size_t, std::byte*, Teams);
#endif

REGIMEN_INLINE void Tcp::barrier() {
  wire_.begin(CollectiveKind::Barrier, 0, 0);
  Teams{}.for_each_other(rank(), size(), [&](std::size_t, std::size_t r) {
    wire_.send(r, nullptr, 0);
    wire_.expect(r);
  });
  wire_.run(true);
}

REGIMEN_INLINE void Tcp::gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes,
                                Teams teams) {
  wire_.begin(kind, bytes, 0);
  std::byte* const here = all + teams.place(rank()) * bytes;
  if (own != here && bytes != 0) std::memcpy(here, own, bytes);
  teams.for_each_other(rank(), size(), [&](std::size_t p, std::size_t r) {
    wire_.send(r, here, bytes);
    wire_.expect(r);
    wire_.window(r, all + p * bytes, bytes);
  });
  wire_.run(true);
}

REGIMEN_INLINE TcpOptions tcp_options(const Membership& world, std::uint64_t fingerprint, Deadline deadline) {
  if (world.size > 1 && (world.address.empty() || world.port == 0)) {
    throw Error(world.said, "MASTER_ADDR and MASTER_PORT, where rank 0 is to be found",
                world.address.empty() ? "no MASTER_ADDR" : "no MASTER_PORT", "set both, the same for all ranks");
  }
  return {.rank = world.rank,
          .size = world.size,
          .address = world.address,
          .port = world.port,
          .fingerprint = fingerprint,
          .deadline = deadline,
          .secret = secret_of_environment()};
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
