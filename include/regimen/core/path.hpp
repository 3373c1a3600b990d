// regimen/core/path.hpp — which layer of the model: its place in the tree of types and its iteration in Repeats.
#pragma once

#include <regimen/core/philox.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>

namespace regimen {

/// Cheap enough for constant expressions: no strings are built. At most 7 levels of at most 255 children; the rules
/// levels_at_most_7 and layers_one_to_255 refuse more.
struct LayerPath final {
  const char* name = "model";
  std::uint64_t digits = 0, iteration = 0;
  bool in_repeat = false;

  static constexpr std::size_t levels = 7;

  /// A place that belongs to no layer, such as the input: outside(0, ...), outside(1, ...).
  static constexpr LayerPath outside(std::uint64_t index, const char* name) { return {name, ~index}; }
  constexpr bool is_outside() const { return digits >> (8 * levels) != 0; }

  constexpr LayerPath child(std::size_t index, const char* child_name) const {
    return {child_name, digits * 256 + index + 1, iteration, in_repeat};
  }
  constexpr LayerPath repeated(std::size_t index, std::size_t count) const {
    return {name, digits, iteration * count + index, true};
  }

  /// A number that is unique to this place of the model; it is the key of the place's random numbers.
  constexpr std::uint64_t stream() const { return Philox::mix(digits, iteration); }

  /// "2.0.3": children count from 0. Empty outside of layers. Defined in core/path_text.hpp.
  std::string place() const;
  /// "2.0.3 (layer_norm), iteration 5": counted over all Repeats around the layer; without them "3 (linear)". Defined
  /// in core/path_text.hpp.
  std::string text() const;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
