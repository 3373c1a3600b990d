// regimen/program/check_ids.hpp — checks the tokens and labels of a batch against vocabulary
// and classes, before it is loaded.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::train {

/// vocabulary = 0: inputs are no tokens.
[[noreturn, gnu::cold]] inline void refuse_token(const std::string& where, std::size_t sample, std::size_t position,
                                                 std::size_t vocabulary, const std::string& found) {
  throw Error(where + ", token of sample " + std::to_string(sample) + ", position " + std::to_string(position),
              "one of the vocabulary's " + std::to_string(vocabulary) + ", 0 to " + std::to_string(vocabulary - 1),
              found, "mend the data, or give the Embedding a larger Vocabulary");
}
[[noreturn, gnu::cold]] inline void refuse_label(const std::string& where, std::size_t sample, const std::string& row,
                                                 std::size_t classes, const std::string& found) {
  throw Error(
      where + ", label of sample " + std::to_string(sample) + row,
      "one of " + std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) + ", or ignore_index",
      found, "mend the data, or give the last layer as many outputs as there are classes");
}

/// failure   Error naming sample (the first of these is `first`), position and token
template <class Input>
void check_tokens([[maybe_unused]] std::span<const Input> inputs, [[maybe_unused]] std::size_t per_sample,
                  [[maybe_unused]] std::size_t vocabulary, [[maybe_unused]] const std::string& where,
                  [[maybe_unused]] std::size_t first) {
  if constexpr (std::is_integral_v<Input>) {
    if (vocabulary == 0) return;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!std::in_range<std::size_t>(inputs[i]) || std::cmp_greater_equal(inputs[i], vocabulary))
        refuse_token(where, first + i / per_sample, i % per_sample, vocabulary, std::to_string(inputs[i]));
  }
}

/// failure   Error naming sample (the first of these is `first`), row and label
template <class Label>
void check_labels([[maybe_unused]] std::span<const Label> targets, [[maybe_unused]] std::size_t per_sample,
                  [[maybe_unused]] std::size_t classes, [[maybe_unused]] const std::string& where,
                  [[maybe_unused]] std::size_t first) {
  if constexpr (std::is_integral_v<Label>) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Label label = targets[i];
      if (label == Label(ignore_index) || (label >= 0 && std::cmp_less(label, classes))) continue;
      refuse_label(where, first + i / per_sample,
                   per_sample > 1 ? ", row " + std::to_string(i % per_sample) : std::string(), classes,
                   std::to_string(label));
    }
  }
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
