// regimen/walk/layout.hpp — where the parameters and buffers of layers lie in the memory of their unit.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/walk/tensors.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>

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
  std::size_t buffer = 0;             // of a branch: bytes into the buffers
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

/// Elements at whose multiples a parameter begins, so that it is aligned in the buffer with the narrowest elements,
/// too.
constexpr std::size_t granule_of(std::size_t alignment, std::initializer_list<std::size_t> elements) {
  std::size_t narrowest = alignment;
  for (const std::size_t bytes : elements) narrowest = bytes < narrowest ? bytes : narrowest;
  return alignment / narrowest;
}
/// Where each of a layer's parameters begins, in elements from the first; the last entry is the end.
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
/// Where each of a layer's buffers begins, in bytes from the first; the last entry is the end.
template <class T, std::size_t count>
constexpr std::array<std::size_t, count + 1> buffer_begins_of(const std::array<Parameter, count>& buffers) {
  std::array<std::size_t, count + 1> result{};
  std::size_t* end = result.data();
  for (const Parameter& buffer : buffers) {
    end[1] = *end + TensorArena::align(buffer.size() * sizeof(T));
    ++end;
  }
  return result;
}
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
