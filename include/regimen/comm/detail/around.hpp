// regimen/comm/detail/around.hpp — wraps a communicator and observes its collectives.
#pragma once

#include <regimen/comm/communicator.hpp>

#include <cstddef>
#include <string_view>

namespace regimen::comm::detail {

/// Calls observe(kind, bytes this rank sends, body) of Observer, which derives from this, for each collective of
/// `inner`. observe must run the body; an Observer without one observes nothing.
///
///   all_gather, all_gather_small   bytes · (ranks of a team − 1)
///   reduce_scatter                 count · element · (ranks of a team − 1)
///   barrier                        0
///
/// These bytes are payload, without what a transport adds (headers, acknowledgements). Threads read memory instead of
/// sending, and count the same.
template <class Observer, Collectives C>
class Around {
 public:
  using Transport = transport_t<C>;

  explicit Around(C& inner) : inner_(inner) {}

  std::size_t rank() const { return inner_.rank(); }
  std::size_t size() const { return inner_.size(); }
  static constexpr std::size_t staging_bytes(std::size_t ranks, std::size_t slice_bytes) {
    return C::staging_bytes(ranks, slice_bytes);
  }

  void all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams = {}) {
    watched(CollectiveKind::AllGather, slice_bytes, teams, [&] { inner_.all_gather(own, all, slice_bytes, teams); });
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    watched(CollectiveKind::AllGatherSmall, bytes, {}, [&] { inner_.all_gather_small(own, all, bytes); });
  }
  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams = {}) {
    watched(CollectiveKind::ReduceScatter, count * sizeof(T), teams,
            [&] { inner_.reduce_scatter(all, own, count, staging, teams); });
  }
  void barrier() {
    watched(CollectiveKind::Barrier, 0, {}, [&] { inner_.barrier(); });
  }
  void leave(std::string_view reason) { inner_.leave(reason); }
  auto gone()
    requires requires(C& c) { c.gone(); }
  {
    return inner_.gone();
  }
  auto deadline() const
    requires requires(const C& c) { c.deadline(); }
  {
    return inner_.deadline();
  }

 private:
  void observe(CollectiveKind, std::size_t, const auto& body) { body(); }
  void watched(CollectiveKind kind, std::size_t slice_bytes, Teams teams, const auto& body) {
    static_cast<Observer*>(this)->observe(kind, slice_bytes * (teams.members(size()) - 1), body);
  }

  C& inner_;
};

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
