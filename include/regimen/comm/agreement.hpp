// regimen/comm/agreement.hpp — ranks compare values on the host: they agree, or all throw Error
// and name the ranks that differ.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace regimen::comm {

/// Gathers a small value of every rank.
template <class T>
std::vector<T> gather_small(Control& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  ranks.all_gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// Throws on all ranks unless all have the same value, before a mismatch can hang a collective.
///   ranks   null: a single rank
void agree(Control* ranks, const char* where, const char* what, std::uint64_t own);

/// As agree, for texts: the error shows those of rank 0 and of the first rank that differs.
///   own   255 bytes are shown; the rest is compared as a hash
void agree_in_words(Control* ranks, const char* where, const char* what, const std::string& own, const char* cure);

/// Whether the condition is true on every rank.
bool on_all(Control& ranks, bool own);
/// A barrier.   ranks   null: a single rank, which does not wait
void barrier(Control* ranks);

}  // namespace regimen::comm

#if !REGIMEN_COMPILED
#include <regimen/comm/agreement.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
