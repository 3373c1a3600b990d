// regimen/walk/layout.hpp — where the parameters and buffers of layers lie in the memory of their unit.
#pragma once

#include <regimen/core/weights.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/walk/tensors.hpp>

#include <array>
#include <cstddef>

namespace regimen::walk {

/// One parameter tensor of a unit: its place in every buffer of the unit.
struct TensorPlace {
  std::size_t values = 0;                      // bytes into the unit's parameters as kernels read them
  std::size_t master = 0;                      // elements into its master weights
  std::size_t gradient = 0;                    // elements into its gradients and optimizer state, if trained
  std::size_t count = 0;                       // elements
  ElementType element = ElementType::float32;  // of the values
  bool trains = true, decays = false;
  std::size_t rows = 1;               // of a matrix; a vector is one row
  std::size_t group = 0, states = 0;  // whose update rule it has; arrays of state of that rule
  std::size_t buffer = 0;             // of a layer in a list: bytes into the buffers

  /// Where this tensor, or layer, lies if what it is part of begins there: nothing but the three places.
  constexpr TensorPlace operator+(const TensorPlace& begin) const {
    return {values + begin.values, master + begin.master, gradient + begin.gradient};
  }
};

/// The memory of a node's parameters inside their unit: elements in all, and those that train, both with the gaps
/// behind tensors that end between two multiples of the alignment. Gaps hold zeros, and nothing reads them but sums.
///   gaps, trained_gaps   elements of gaps       gap_bytes   of gaps among the values
///   buffer_bytes         of state that is not trained: no unit has it, since no rank keeps it in slices
struct ParameterLayout {
  std::size_t value_bytes = 0, value_alignment = 1, count = 0, trained = 0, tensors = 0;
  bool all_master = true;  // whether kernels read the master weights themselves
  std::size_t gaps = 0, trained_gaps = 0, gap_bytes = 0, buffer_bytes = 0;

  constexpr std::size_t weights() const { return count - gaps; }
  constexpr std::size_t trained_weights() const { return trained - trained_gaps; }

  static constexpr std::size_t align(std::size_t offset, std::size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  }

  constexpr void append(const ParameterLayout& next) {
    value_bytes = align(value_bytes, next.value_alignment) + next.value_bytes;
    value_alignment = value_alignment > next.value_alignment ? value_alignment : next.value_alignment;
    count += next.count;
    trained += next.trained;
    tensors += next.tensors;
    all_master = all_master && next.all_master;
    gaps += next.gaps;
    trained_gaps += next.trained_gaps;
    gap_bytes += next.gap_bytes;
    buffer_bytes += next.buffer_bytes;
  }
};

/// Where each of a layer's parameters, or buffers, begins, in elements from the first; the last entry is the end.
///   granule   elements: each begins at a multiple
template <std::size_t count>
constexpr std::array<std::size_t, count + 1> begins_of(const std::array<Parameter, count>& parameters,
                                                       std::size_t granule) {
  std::array<std::size_t, count + 1> result{};
  std::size_t* end = result.data();
  for (const Parameter& parameter : parameters) {
    end[1] = *end + ParameterLayout::align(parameter.size(), granule);
    ++end;
  }
  return result;
}
/// Where the parameters and buffers of neighbours begin inside those of their list, and the layout of all.
template <std::size_t count>
struct NeighbourLayouts {
  std::array<TensorPlace, count> begins{};
  ParameterLayout all{};

  explicit constexpr NeighbourLayouts(const auto&... layouts) {
    TensorPlace* begin = begins.data();
    ((*begin++ = TensorPlace{.values = ParameterLayout::align(all.value_bytes, layouts.value_alignment),
                             .master = all.count,
                             .gradient = all.trained,
                             .buffer = all.buffer_bytes},
      all.append(layouts)),
     ...);
  }

  /// The weights of neighbour i, of those of all.   bytes   of an element of the gradients
  constexpr WeightPlaces weights_of(WeightPlaces weights, std::size_t i, std::size_t bytes) const {
    if (weights.values != absent) weights.values += begins[i].values;  // else not read
    weights.gradients += begins[i].gradient * bytes;
    weights.buffers = all.buffer_bytes > 0 ? weights.buffers + begins[i].buffer : absent;
    return weights;
  }
};
/// The offsets of all parameters, of which the first is at `first`, or of their gradients.   bytes   of an element
template <std::size_t count>
constexpr TensorOffsets<count - 1> offsets_of(std::size_t first, const std::array<std::size_t, count>& begins,
                                              std::size_t bytes) {
  TensorOffsets<count - 1> result{{first}};
  if constexpr (count > 2) {
    if (first == absent) bytes = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) result.at[i] = first + begins[i] * bytes;
  }
  return result;
}

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
