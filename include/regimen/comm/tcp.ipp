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
#include <string>
#include <string_view>

namespace regimen::comm {

REGIMEN_INLINE Tcp::Tcp(const TcpOptions& options) : wire_(options), exceptions_(std::uncaught_exceptions()) {}

REGIMEN_INLINE Tcp::~Tcp() {
  if (std::uncaught_exceptions() > exceptions_) leave("an exception");
}

template <class Body>
void Tcp::for_each_other(Teams teams, const Body& body) const {
  const std::size_t members = teams.members(size());
  for (std::size_t step = 1; step < members; ++step) body((teams.place(rank()) + step) % members);
}

REGIMEN_INLINE void Tcp::all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams) {
  gather(CollectiveKind::AllGather, own, all, slice_bytes, teams);
}

REGIMEN_INLINE void Tcp::all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
  gather(CollectiveKind::AllGatherSmall, own, all, bytes, {});
}

template <Number T>
void Tcp::reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams) {
  wire_.begin(CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T));
  const std::size_t members = teams.members(size()), here = teams.place(rank());
  const std::size_t most = chunk_bytes(members) / sizeof(T), chunk = count < most ? count : most,
                    lane = (chunk * sizeof(T) + 63) / 64 * 64;
  for_each_other(teams, [&](std::size_t p) {
    wire_.send(teams.member(rank(), p), reinterpret_cast<const std::byte*>(all + p * count), count * sizeof(T));
    wire_.expect(teams.member(rank(), p));
  });
  // The peers' chunks lie side by side in staging; this rank's own summands are read in place.
  // One chunk is summed at a time.
  const auto lane_of = [&](std::size_t p) { return staging + (p < here ? p : p - 1) * lane; };
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t now = chunk < count - at ? chunk : count - at;
    for_each_other(teams, [&](std::size_t p) { wire_.window(teams.member(rank(), p), lane_of(p), now * sizeof(T)); });
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
  for_each_other({}, [&](std::size_t r) {
    wire_.send(r, nullptr, 0);
    wire_.expect(r);
  });
  wire_.run(true);
}

REGIMEN_INLINE void Tcp::leave(std::string_view reason) { wire_.leave(reason); }

REGIMEN_INLINE std::string Tcp::gone() { return wire_.gone(); }

REGIMEN_INLINE void Tcp::gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes,
                                Teams teams) {
  wire_.begin(kind, bytes, 0);
  std::byte* const here = all + teams.place(rank()) * bytes;
  if (own != here && bytes != 0) std::memcpy(here, own, bytes);
  for_each_other(teams, [&](std::size_t place) {
    const std::size_t r = teams.member(rank(), place);
    wire_.send(r, here, bytes);
    wire_.expect(r);
    wire_.window(r, all + place * bytes, bytes);
  });
  wire_.run(true);
}

REGIMEN_INLINE TcpOptions tcp_options(const Membership& world, std::uint64_t fingerprint, Deadline deadline) {
  if (world.size > 1 && (world.address.empty() || world.port == 0)) {
    throw Error(world.said, "MASTER_ADDR and MASTER_PORT, where rank 0 is to be found",
                world.address.empty() ? "no MASTER_ADDR" : "no MASTER_PORT", "set both, the same for all ranks");
  }
  TcpOptions options;
  options.rank = world.rank;
  options.size = world.size;
  options.address = world.address;
  options.port = world.port;
  options.fingerprint = fingerprint;
  options.deadline = deadline;
  options.secret = secret_of_environment();
  return options;
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
