// regimen/comm/communicator.hpp — the collectives that a step uses.
#pragma once

#include <regimen/comm/teams.hpp>
#include <regimen/core/number.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace regimen {

namespace comm::detail {
/// The owner of started collectives. `wait` returns when a collective has ended, or throws the error that ended it.
class Waiter {
 public:
  virtual void wait(std::uint64_t ticket) = 0;

 protected:
  ~Waiter() = default;
};
}  // namespace comm::detail

/// A started collective. `wait` returns when the result may be used, and throws if the collective failed;
/// it may be called repeatedly. Without a waiter the collective ended at its start. A PendingCollective must not
/// outlive the object that returned it.
struct PendingCollective final {
  comm::detail::Waiter* waiter = nullptr;
  std::uint64_t ticket = 0;

  constexpr void wait() const {
    if (waiter != nullptr) waiter->wait(ticket);
  }
};

namespace comm {

/// Collectives over flat host memory. Each blocks until this rank's part is done: then its inputs may be
/// overwritten, and its outputs are complete. Every rank calls the same collectives in the same order with the same
/// sizes, from one thread at a time.
///
///   all_gather(own, all, bytes)                 all[r · bytes ...] of every rank r; in
///                                               place when own = all + rank · bytes
///   all_gather_small(own, all, bytes)           the same, counted separately: norms, loss counts, fingerprints
///   reduce_scatter(all, own, count, staging)    own[i] = Σ_r all_r[rank · count + i];
///                                               in place when own = all + rank · count
///   barrier()                                   no rank returns before all ranks have called it
///
/// all_gather and reduce_scatter take Teams as a last argument: then "all ranks" are the ranks of a team, ordered by
/// place, and the tree of a sum is over places.
///
///   deadline()                                  optional: how long a rank waits for the others
///   gone()                                      optional: see Control::gone
///   leave(reason)                               this rank stops and tells the others why. From any thread, at most
///                                               once, before its memory is freed; later collectives of this rank throw
///
/// Any other overlap of two arguments is undefined. Element types are fp64, fp32, bf16 and fp16.
///
/// sums      Σ_r is the balanced tree of comm/tree.hpp, the same bits on every rank and from every communicator; 16-bit
///           numbers are added in fp32 and rounded once
/// failure   PeerError that names the ranks that failed, or did not arrive within the deadline, or called another
///           collective. Then outputs are undefined, and every later call throws: the communicator cannot be used again
/// memory    staging_bytes(ranks, slice bytes) at `staging`, aligned to 64. Nothing is allocated after construction,
///           except the text of an error
template <class C>
concept Collectives =
    requires(C& c, const C& k, const std::byte* in, std::byte* out, const fp32* summands, fp32* sums, std::size_t n) {
      { k.rank() } -> std::same_as<std::size_t>;
      { k.size() } -> std::same_as<std::size_t>;
      { C::staging_bytes(n, n) } -> std::same_as<std::size_t>;
      c.all_gather(in, out, n);
      c.all_gather(in, out, n, Teams{});
      c.all_gather_small(in, out, n);
      c.reduce_scatter(summands, sums, n, out);
      c.reduce_scatter(summands, sums, n, out, Teams{});
      c.barrier();
      c.leave(std::string_view{});
    };

namespace detail {
template <class C>
struct transport_of {
  using type = C;
};
template <class C>
  requires requires { typename C::Transport; }
struct transport_of<C> {
  using type = typename C::Transport;
};
}  // namespace detail
/// The communicator that transports the bytes of C: C itself, or the one that C wraps.
template <class C>
using transport_t = typename detail::transport_of<C>::type;

/// The kinds of collectives, for headers on the wire, counts and traces. Of 32 bits: a header has no padding.
enum class CollectiveKind : std::uint32_t { AllGather, AllGatherSmall, ReduceScatter, Barrier };
inline constexpr std::size_t collective_kinds = 4;
constexpr const char* name_of_collective(CollectiveKind kind) {
  constexpr const char* names[collective_kinds] = {"all_gather", "all_gather_small", "reduce_scatter", "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

/// The chunk that a communicator receives from each peer at once: 1 MiB; beyond 17 ranks less, so that all chunks
/// together stay within 16 MiB, but at least 4 KiB. A multiple of every element's size.
constexpr std::size_t chunk_bytes(std::size_t ranks) {
  constexpr std::size_t most = std::size_t{1} << 20, most_in_all = std::size_t{16} << 20, least = 4096;
  if (ranks <= 17) return most;
  const std::size_t share = most_in_all / (ranks - 1) / 64 * 64;
  return share < least ? least : share;
}
/// The staging of such a communicator: for each peer a chunk, or the whole slice if that is smaller.
constexpr std::size_t chunked_staging_bytes(std::size_t ranks, std::size_t slice_bytes) {
  const std::size_t padded = (slice_bytes + 63) / 64 * 64;
  return ranks <= 1 ? 0 : (ranks - 1) * (padded < chunk_bytes(ranks) ? padded : chunk_bytes(ranks));
}

}  // namespace comm
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
