// regimen/comm/agreement.hpp — ranks agree on the host: on a value, on a decision, or end together and say who differs.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace regimen::comm {

/// A small value of every rank.
template <class T>
std::vector<T> gather_small(Control& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  ranks.all_gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// All ranks end here, or none, and not in a collective that never comes to an end.   ranks   null: one rank, which agrees
inline void agree(Control* ranks, const char* where, const char* what, std::uint64_t own) {
  if (ranks == nullptr || ranks->size() == 1) return;
  const std::vector<std::uint64_t> all = gather_small(*ranks, own);
  std::string others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  if (!others.empty())
    throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks", "others than rank 0's on rank " + others,
                "start all ranks from one program with the same arguments, files and data");
}

/// The same for what people read: says what rank 0 has, and what the first that differs.   own   255 bytes of it count
inline void agree_in_words(Control* ranks, const char* where, const char* what, const std::string& own, const char* cure) {
  if (ranks == nullptr || ranks->size() == 1) return;
  struct Words {
    char text[256];
  };
  Words words{};
  own.copy(words.text, sizeof words.text - 1);
  const std::vector<Words> all = gather_small(*ranks, words);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (std::string(all[r].text) != all[0].text)
      throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks",
                  "\"" + std::string(all[0].text) + "\" on rank 0 and \"" + all[r].text + "\" on rank " + std::to_string(r), cure);
}

/// Whether it is true on every rank.
inline bool on_all(Control& ranks, bool own) {
  const std::vector<std::uint8_t> all = gather_small(ranks, static_cast<std::uint8_t>(own));
  return std::find(all.begin(), all.end(), 0) == all.end();
}
/// Nobody leaves before all have come.   ranks   null: one rank, which waits for nobody
inline void barrier(Control* ranks) {
  if (ranks != nullptr) gather_small(*ranks, std::uint8_t{0});
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
