// regimen/comm/agreement.hpp — ranks compare values on the host: they agree, or all throw Error
// and name the ranks that differ.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>

#include <algorithm>
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
inline void agree(Control* ranks, const char* where, const char* what, std::uint64_t own) {
  if (ranks == nullptr || ranks->size() == 1) return;
  const std::vector<std::uint64_t> all = gather_small(*ranks, own);
  std::string others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  if (!others.empty())
    throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks",
                "others than rank 0's on rank " + others,
                "start all ranks from one program with the same arguments, files and data");
}

/// The same for text: the error shows the texts of rank 0 and of the first rank that differs.
///   own   255 bytes are shown; the rest is compared as a hash
inline void agree_in_words(Control* ranks, const char* where, const char* what, const std::string& own,
                           const char* cure) {
  if (ranks == nullptr || ranks->size() == 1) return;
  struct Words {
    std::uint64_t whole;
    char text[256];
  };
  Words words{};
  for (const char letter : own) words.whole = mix(words.whole, static_cast<unsigned char>(letter));
  own.copy(words.text, sizeof words.text - 1);
  const std::vector<Words> all = gather_small(*ranks, words);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r].whole != all[0].whole || std::string(all[r].text) != all[0].text)
      throw Error(
          where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks",
          "\"" + std::string(all[0].text) + "\" on rank 0 and \"" + all[r].text + "\" on rank " + std::to_string(r),
          cure);
}

/// Whether the condition is true on every rank.
inline bool on_all(Control& ranks, bool own) {
  const std::vector<std::uint8_t> all = gather_small(ranks, static_cast<std::uint8_t>(own));
  return std::find(all.begin(), all.end(), 0) == all.end();
}
/// A barrier.   ranks   null: a single rank, which does not wait
inline void barrier(Control* ranks) {
  if (ranks != nullptr) gather_small(*ranks, std::uint8_t{0});
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
