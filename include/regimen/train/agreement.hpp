// regimen/train/agreement.hpp — ranks that would not train the same thing end at once, and say which differ.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/peers.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

namespace detail {
struct AnyField {
  template <class T>
  operator T() const;
};
template <class T, std::size_t... i>
constexpr bool takes_fields(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), AnyField{})...}; };
}
template <class T, std::size_t most = 9>
constexpr std::size_t field_count() {
  if constexpr (most == 0 || takes_fields<T>(std::make_index_sequence<most>{})) return most;
  else return field_count<T, most - 1>();
}
}  // namespace detail

namespace train {

/// A small value of every rank.
template <class T>
std::vector<T> gather_small(cpu::Peers& peers, const T& own) {
  std::vector<T> all(peers.size());
  peers.gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// All ranks end here, or none, and not in a collective that never comes to an end.   peers   null: one rank, which agrees
inline void agree(cpu::Peers* peers, const char* where, const char* what, std::uint64_t own) {
  if (peers == nullptr || peers->size() == 1) return;
  const std::vector<std::uint64_t> all = gather_small(*peers, own);
  std::string others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  if (!others.empty())
    throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks", "others than rank 0's on rank " + others,
                "start all ranks from one program with the same arguments, files and data");
}

/// Whether it is true on every rank.   peers   null: one rank, whose word it is
inline bool on_all(cpu::Peers* peers, bool own) {
  if (peers == nullptr || peers->size() == 1) return own;
  const std::vector<std::uint8_t> all = gather_small(*peers, static_cast<std::uint8_t>(own));
  return std::find(all.begin(), all.end(), 0) == all.end();
}

/// The same number has the same bits on every rank.
template <class T>
std::uint64_t bits_of_number(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  else return static_cast<std::uint64_t>(value);
}

/// The numbers of an aggregate of at most eight, such as the options of an update rule; others by what all rules have, their learning rate.
template <class Options>
std::uint64_t print_of_options(const Options& options) {
  constexpr std::size_t fields = std::is_aggregate_v<Options> ? regimen::detail::field_count<Options>() : 0;
  const auto print = [](const auto&... values) {
    std::uint64_t bits = sizeof...(values);
    ((bits = mix(bits, bits_of_number(values))), ...);
    return bits;
  };
  if constexpr (fields == 1) {
    const auto& [a] = options;
    return print(a);
  } else if constexpr (fields == 2) {
    const auto& [a, b] = options;
    return print(a, b);
  } else if constexpr (fields == 3) {
    const auto& [a, b, c] = options;
    return print(a, b, c);
  } else if constexpr (fields == 4) {
    const auto& [a, b, c, d] = options;
    return print(a, b, c, d);
  } else if constexpr (fields == 5) {
    const auto& [a, b, c, d, e] = options;
    return print(a, b, c, d, e);
  } else if constexpr (fields == 6) {
    const auto& [a, b, c, d, e, f] = options;
    return print(a, b, c, d, e, f);
  } else if constexpr (fields == 7) {
    const auto& [a, b, c, d, e, f, g] = options;
    return print(a, b, c, d, e, f, g);
  } else if constexpr (fields == 8) {
    const auto& [a, b, c, d, e, f, g, h] = options;
    return print(a, b, c, d, e, f, g, h);
  } else {
    return print(options.learning_rate);
  }
}

/// The model, the policies, and the options that decide what is computed; of a schedule its values at steps that are powers of two.
template <class Trainer>
std::uint64_t fingerprint_of(const typename Trainer::Options& options, std::uint64_t seed) {
  std::uint64_t print = mix(seed, Trainer::batch * Trainer::micro_batches);
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c) print = mix(print, static_cast<std::uint64_t>(*c));
  print = mix(print, print_of_options(options.optimizer));
  for (std::uint64_t step = 0; step < std::uint64_t{1} << 40; step = step == 0 ? 1 : 2 * step)
    print = mix(print, std::bit_cast<std::uint64_t>(options.schedule.share(step)));
  return print;
}

}  // namespace train
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
