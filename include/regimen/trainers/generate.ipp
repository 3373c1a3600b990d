// regimen/trainers/generate.ipp — the bodies of generate.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/trainers/generate.hpp>

#include <unistd.h>

#include <cmath>
#include <limits>

namespace regimen {

namespace detail {
template <class Number>
std::int32_t draw(std::span<const Number> logits, const Sampling& sampling, std::uint64_t position) {
  if (sampling.vocabulary > 0 && sampling.vocabulary < logits.size()) logits = logits.first(sampling.vocabulary);
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!is_finite(logits[i]))
      throw Error("generate, token " + std::to_string(position), "finite logits",
                  "one that is not finite, for token " + std::to_string(i));
  const auto larger = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<std::size_t> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::size_t best = *std::min_element(ids.begin(), ids.end(), larger);
  if (sampling.temperature == 0) return static_cast<std::int32_t>(best);
  if (sampling.top_k > 0 && sampling.top_k < ids.size()) {
    std::nth_element(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(sampling.top_k - 1), ids.end(), larger);
    ids.resize(sampling.top_k);
    std::sort(ids.begin(), ids.end());  // fixes the order of the sum, whatever order nth_element left
  }
  const auto weight = [&](std::size_t id) {
    return std::exp((double(logits[id]) - double(logits[best])) / sampling.temperature);
  };
  double sum = 0;
  for (const std::size_t id : ids) sum += weight(id);
  const Philox::Words words = Philox::draw(Philox::mix(sampling.seed, 0x6E4E), position, 0);
  double left = sum * (double(words.word[0]) + 0.5) * 0x1p-32;
  for (const std::size_t id : ids) {
    left -= weight(id);
    if (left < 0) return static_cast<std::int32_t>(id);
  }
  return static_cast<std::int32_t>(best);  // because of rounding
}

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
    throw Error("generate, temperature", "0 or more", digits_of(sampling.temperature));
  for (const std::int32_t token : prompt)
    if (token < 0 || static_cast<std::size_t>(token) >= vocabulary)
      throw Error("generate, prompt", "tokens below " + std::to_string(vocabulary), std::to_string(token));
}

}  // namespace detail

REGIMEN_INLINE std::int32_t draw_token(std::span<const float> logits, const Sampling& sampling,
                                       std::uint64_t position) {
  return detail::draw(logits, sampling, position);
}
REGIMEN_INLINE std::int32_t draw_token(std::span<const double> logits, const Sampling& sampling,
                                       std::uint64_t position) {
  return detail::draw(logits, sampling, position);
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
