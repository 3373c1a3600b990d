// regimen/train/generate.ipp — the bodies of generate.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/train/generate.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace regimen::detail {

REGIMEN_INLINE std::size_t tokens_in_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  const std::size_t addressable = (std::numeric_limits<std::ptrdiff_t>::max)();
  return (pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) : addressable) /
         sizeof(std::int32_t);
}

REGIMEN_INLINE void check_prompt(std::span<const std::int32_t> prompt, std::size_t vocabulary,
                                 const Sampling& sampling) {
  if (prompt.empty())
    throw Error("generate", "a prompt of at least one token", "an empty one", "begin with a line feed");
  if (!(sampling.temperature >= 0) || !is_finite(sampling.temperature))
    throw Error("generate, temperature", "0 or more", regimen::detail::digits_of(sampling.temperature));
  for (const std::int32_t token : prompt)
    if (token < 0 || static_cast<std::size_t>(token) >= vocabulary)
      throw Error("generate, prompt", "tokens below " + std::to_string(vocabulary), std::to_string(token));
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
