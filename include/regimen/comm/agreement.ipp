// regimen/comm/agreement.ipp — the bodies of agreement.hpp.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/compiled.hpp>

#include <algorithm>

namespace regimen::comm {

REGIMEN_INLINE void agree(Control* ranks, const char* where, const char* what, std::uint64_t own) {
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

REGIMEN_INLINE void agree_in_words(Control* ranks, const char* where, const char* what, const std::string& own,
                                   const char* cure) {
  if (ranks == nullptr || ranks->size() == 1) return;
  struct Words {
    std::uint64_t whole;
    char text[256];
  };
  Words words{};
  for (const char letter : own) words.whole = Philox::mix(words.whole, static_cast<unsigned char>(letter));
  own.copy(words.text, sizeof words.text - 1);
  const std::vector<Words> all = gather_small(*ranks, words);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r].whole != all[0].whole || std::string(all[r].text) != all[0].text)
      throw Error(
          where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks",
          "\"" + std::string(all[0].text) + "\" on rank 0 and \"" + all[r].text + "\" on rank " + std::to_string(r),
          cure);
}

REGIMEN_INLINE bool on_all(Control& ranks, bool own) {
  const std::vector<std::uint8_t> all = gather_small(ranks, static_cast<std::uint8_t>(own));
  return std::find(all.begin(), all.end(), 0) == all.end();
}

REGIMEN_INLINE void barrier(Control* ranks) {
  if (ranks != nullptr) gather_small(*ranks, std::uint8_t{0});
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
