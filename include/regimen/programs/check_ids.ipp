// regimen/programs/check_ids.ipp — the bodies of check_ids.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/programs/check_ids.hpp>

namespace regimen::programs {

REGIMEN_INLINE void refuse_token(const std::string& where, std::size_t sample, std::size_t position,
                                 std::size_t vocabulary, const std::string& found) {
  throw Error(where + ", token of sample " + std::to_string(sample) + ", position " + std::to_string(position),
              "one of the vocabulary's " + std::to_string(vocabulary) + ", 0 to " + std::to_string(vocabulary - 1),
              found, "mend the data, or give the Embedding a larger Vocabulary");
}

REGIMEN_INLINE void refuse_label(const std::string& where, std::size_t sample, const std::string& row,
                                 std::size_t classes, const std::string& found) {
  throw Error(
      where + ", label of sample " + std::to_string(sample) + row,
      "one of " + std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) + ", or ignore_index",
      found, "mend the data, or give the last layer as many outputs as there are classes");
}

REGIMEN_INLINE void refuse_weight(const std::string& where, std::size_t sample, double found) {
  throw Error(where + ", weight of sample " + std::to_string(sample), "a finite number",
              regimen::detail::digits_of(found), "mend the data; 0 leaves a target out");
}

REGIMEN_INLINE void check_source(std::size_t tokens, std::size_t length, std::int32_t padding,
                                 const std::string& where) {
  if (tokens == length || (padding >= 0 && tokens > 0 && tokens < length)) return;
  throw Error(
      where + ", source", (padding >= 0 ? "1 to " : "") + std::to_string(length) + " tokens, as the model reads",
      std::to_string(tokens),
      padding >= 0 || tokens >= length ? ""
                                       : "give the model KeepLength<Name, PaddedWith<...>> and attention that is "
                                         "Within<Name>, or fill the source up as in training");
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
