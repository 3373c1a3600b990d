// regimen/data/tokenizer/added.hpp — tokens that are found in a text before it is cut into words.
#pragma once

#include <regimen/data/tokenizer/parts.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>
#include <vector>

namespace regimen::data::bpe {

/// Finds the leftmost of some texts, and at one place the longest.
///
/// cost     two reads a byte, in a text without any token's first two characters
class AddedTokens final {
 public:
  /// The tokens of `added` with this `normalized`; keeps pointers to them.
  AddedTokens(const std::vector<AddedToken>& added, bool normalized) {
    for (const AddedToken& token : added) {
      if (token.normalized != normalized || token.content.empty()) continue;
      const auto first = static_cast<unsigned char>(token.content[0]);
      by_first_[first].push_back(&token);
      if (token.content.size() > 1)
        begins_[first * std::size_t{256} + static_cast<unsigned char>(token.content[1])] = true;
      else
        for (std::size_t second = 0; second < 256; ++second) begins_[first * std::size_t{256} + second] = true;
      is_empty_ = false;
    }
  }

  /// The first token at or after `from`, and its begin; null: none.
  const AddedToken* find(std::string_view text, std::size_t from, std::size_t& begin) const {
    if (is_empty_) return nullptr;
    for (std::size_t at = from; at < text.size(); ++at) {
      const auto first = static_cast<unsigned char>(text[at]);
      if (by_first_[first].empty()) continue;
      if (at + 1 < text.size() && !begins_[first * std::size_t{256} + static_cast<unsigned char>(text[at + 1])])
        continue;
      const AddedToken* longest = nullptr;
      for (const AddedToken* const token : by_first_[first])
        if (text.substr(at).starts_with(token->content) &&
            (longest == nullptr || token->content.size() > longest->content.size()))
          longest = token;
      if (longest == nullptr) continue;
      begin = at;
      return longest;
    }
    return nullptr;
  }

 private:
  std::array<std::vector<const AddedToken*>, 256> by_first_{};
  std::bitset<std::size_t{256} * 256> begins_{};
  bool is_empty_ = true;
};

}  // namespace regimen::data::bpe
// SPDX-License-Identifier: Apache-2.0
