// regimen/walk/tensor_path.hpp — what leads to a tensor in the tree of layers: its name as text, or as a number.
#pragma once

#include <regimen/core/philox.hpp>

#include <boost/mp11/list.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace regimen::walk {

/// A name in constant expressions, which have no strings: two names are equal where these are.
struct TensorPath final {
  std::uint64_t name = 0;

  friend constexpr TensorPath operator+(TensorPath path, const char* text) {
    for (; *text != '\0'; ++text) path.name = Philox::mix(path.name, static_cast<unsigned char>(*text));
    return path;
  }
};

// The prefix of the names of a child's tensors. One prefix serves all children in their turn: it is extended for each,
// and cut again. (A string for each child would have to be destroyed in each list of layers of each model.)

inline std::size_t name_mark(const std::string& prefix) { return prefix.size(); }
constexpr TensorPath name_mark(const TensorPath& prefix) { return prefix; }
/// Makes it again what it was at the mark.
[[gnu::cold]] inline void cut_name(std::string& prefix, std::size_t mark) { prefix.resize(mark); }
constexpr void cut_name(TensorPath& prefix, const TensorPath& mark) { prefix = mark; }
/// Of child `index`, or of the one with this label, or with these.
[[gnu::cold]] inline void extend_name(std::string& prefix, std::size_t index) {
  prefix += std::to_string(index);
  prefix += '.';
}
[[gnu::cold]] inline void extend_name(std::string& prefix, const char* label) {
  prefix += label;
  prefix += '.';
}
constexpr void extend_name(TensorPath& prefix, std::size_t index) {
  prefix.name = Philox::mix(prefix.name, 256 + index);
}
constexpr void extend_name(TensorPath& prefix, const char* label) { prefix = prefix + label + "."; }
template <class... Labels>
[[gnu::always_inline]] constexpr void extend_name([[maybe_unused]] auto& prefix, boost::mp11::mp_list<Labels...>) {
  (Labels::extend(prefix), ...);
}

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
