// regimen/comm/small.hpp — a record, or a few numbers, of every rank: norms, loss counts, fingerprints.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/tree.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace regimen::comm {

/// all[r] = own of rank r.
///
///   all   as many as there are ranks
///
/// cost  one message to each peer
template <class Record, Collectives C>
  requires std::is_trivially_copyable_v<Record>
void gather_records(C& ranks, const Record& own, std::span<Record> all) {
  ranks.all_gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof(Record));
}

/// values[i] = Σ_r values_r[i] on every rank, for a few values: all are gathered and every rank adds them, one message to
/// each peer instead of two. The same bits as all_reduce.
///
///   scratch   ranks · values.size(); holds what was gathered, rank by rank
template <Number T, Collectives C>
void sum_small(C& ranks, std::span<T> values, std::span<T> scratch) {
  ranks.all_gather_small(reinterpret_cast<const std::byte*>(values.data()), reinterpret_cast<std::byte*>(scratch.data()), values.size_bytes());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = T(tree_of_values(scratch.data() + i, ranks.size(), values.size()));
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
