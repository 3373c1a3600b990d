// regimen/walk/tensor_path.hpp — what leads to a tensor in the tree of layers: its name as text, or as a number.
#pragma once

#include <regimen/core/philox.hpp>

#include <boost/mp11/list.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace regimen::walk {

/// A name in constant expressions, which have no strings: two names are equal where these are.
///   layer   the name without its last part: of the layer whose tensor it is
struct TensorPath final {
  std::uint64_t name = 0, layer = 0;

  friend constexpr TensorPath operator+(const TensorPath& path, const char* text) {
    std::uint64_t number = path.name;
    for (; *text != '\0'; ++text) number = Philox::mix(number, static_cast<unsigned char>(*text));
    return {number, path.name};
  }
};

/// The prefix of a child's tensors: of child `index`, or of the one with these labels.
[[gnu::cold]] inline std::string name_inside(const std::string& prefix, std::size_t index) {
  return prefix + std::to_string(index) + ".";
}
constexpr TensorPath name_inside(const TensorPath& prefix, std::size_t index) {
  return {Philox::mix(prefix.name, 256 + index), prefix.layer};
}
template <class... Labels>
[[gnu::cold]] constexpr auto name_inside(auto prefix, boost::mp11::mp_list<Labels...>) {
  ((prefix = Labels::behind(prefix)), ...);
  return prefix;
}

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
