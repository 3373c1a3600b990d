// regimen/trainers/replicas.hpp — compares by hashes the weights that several ranks keep.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regimen::trainers {

/// hashes[r] is rank r's hash of slice slice_of(r). The number of a slice is the number of the first rank that keeps
/// it.
///
/// failure  Error that names the ranks that differ from the majority of their slice; on a tie, from the first rank
template <class SliceOf>
void compare_hashes(std::span<const std::uint64_t> hashes, const SliceOf& slice_of, std::uint64_t step) {
  bool are_equal = true;
  for (std::size_t r = 0; r < hashes.size(); ++r) are_equal = are_equal && hashes[r] == hashes[slice_of(r)];
  if (are_equal) return;
  const auto votes = [&](std::size_t r) {
    std::size_t count = 0;
    for (std::size_t q = 0; q < hashes.size(); ++q) count += slice_of(q) == slice_of(r) && hashes[q] == hashes[r];
    return count;
  };
  std::string others;
  for (std::size_t r = 0; r < hashes.size(); ++r) {
    std::size_t best = slice_of(r);
    for (std::size_t q = best; q < hashes.size(); ++q)
      if (slice_of(q) == slice_of(r) && votes(q) > votes(best)) best = q;
    if (hashes[r] != hashes[best]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  }
  throw Error(
      "Trainer, after step " + std::to_string(step), "the same weights on all ranks that keep them",
      "others on rank " + others,
      "they were equal before: look for another processor or library, for faulty memory, and for code that writes to parameters on "
      "one rank; then resume from an earlier saved state");
}

/// Checks that weights that several ranks keep are equal: after every compare_weights_every steps; if these end inside
/// a launch of several steps, at the end of the launch.
template <class Session>
void compare_weights(Session& session, std::uint64_t further_steps) {
  using Sharding = typename Session::Sharding;
  if constexpr (!Sharding::alone && (!Sharding::slices_parameters || Sharding::group > 0)) {
    const std::uint64_t every = session.options.compare_weights_every, done = session.position.steps_done;
    if (session.ranks() == 1 || every == 0 || (done + further_steps) / every == done / every) return;
    std::uint64_t own = 0;
    for (const auto& tensor : session.tensors) {
      std::size_t begin = session.master_view(tensor).offset, bytes = tensor.count * sizeof(typename Session::Master);
      if (Sharding::slices_state &&
          !Sharding::slices_parameters) {  // one rank keeps the master weights, all ranks keep the copies
        begin = session.resident.parameters + tensor.unit.parameters + tensor.place.values;
        bytes = tensor.place.count * bytes_of(tensor.place.element);
      }
      own = Philox::mix(own, session.walk.engine.hash(begin, bytes));
    }
    session.control()->all_gather_small(reinterpret_cast<const std::byte*>(&own),
                                        reinterpret_cast<std::byte*>(session.peers.hashes.data()), sizeof own);
    compare_hashes(
        session.peers.hashes, [](std::size_t r) { return Sharding::group == 0 ? 0 : Sharding::slice_of(r); },
        done + further_steps);
  }
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
