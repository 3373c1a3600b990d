// regimen/rule/generate_reads_tokens.hpp — generate reads tokens, not characters.
#pragma once

namespace regimen::rule {

/// Which token a character is, only the data or a tokenizer say.   docs/errors/texts.md#generate_reads_tokens
template <class Prompt, bool Reads = false>
struct generate_reads_tokens {
  static constexpr bool holds = Reads;
  struct must_hold {
    static_assert(
        holds, "regimen: generate reads tokens, not characters; write generate(model, tokenizer.encode(text), count)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
