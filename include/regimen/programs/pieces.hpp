// regimen/programs/pieces.hpp — which tensors of a unit one update covers.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/walk/unit.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen::programs {

/// The elements of a tensor, or of a piece, that lie in the slice [from, from + slice) of its unit: the first, counted
/// from the tensor's, and their number. The tensor has `count` elements and begins at element `begin` of the unit.
constexpr std::pair<std::size_t, std::size_t> part_in_slice(std::size_t begin, std::size_t count, std::size_t from,
                                                            std::size_t slice) {
  const std::size_t first = from > begin ? from - begin : 0;
  const std::size_t last = from + slice < begin ? 0 : (count < from + slice - begin ? count : from + slice - begin);
  return first < last ? std::pair{first, last - first} : std::pair{std::size_t{0}, std::size_t{0}};
}

/// One update covers neighbouring trained tensors whose copies lie as their gradients do, with one element size, as
/// long as their segments fit: a piece of the unit. Gaps between tensors are in no segment, nor are tensors of other
/// groups.
template <class Unit, std::size_t group = 0>
struct Pieces final {
 private:
  struct Range {
    std::size_t first = 0, last = 0;  // tensors [first, last)
  };
  static constexpr bool belongs(std::size_t i) { return Unit::tensors[i].trains && Unit::tensors[i].group == group; }
  /// The tensor of the group before this one; this one, if there is none, or if one between them is frozen.
  static constexpr std::size_t before_it(std::size_t next) {
    for (std::size_t i = next; i > 0 && Unit::tensors[i - 1].trains; --i)
      if (belongs(i - 1)) return i - 1;
    return next;
  }
  static constexpr bool joins(std::size_t next) {
    const auto &before = Unit::tensors[before_it(next)], &here = Unit::tensors[next];
    return before_it(next) < next && before.element == here.element &&
           before.values + (here.gradient - before.gradient) * bytes_of(before.element) == here.values;
  }
  /// Whether a tensor extends the segment of the one before it.
  static constexpr bool extends(std::size_t next) {
    const auto &before = Unit::tensors[before_it(next)], &here = Unit::tensors[next];
    return before.decays == here.decays && before.gradient + before.count == here.gradient;
  }
  static constexpr std::pair<std::array<Range, Unit::tensors.size()>, std::size_t> ranges = [] {
    std::pair<std::array<Range, Unit::tensors.size()>, std::size_t> result{};
    std::size_t& pieces = result.second;
    std::size_t segments_here = 0;
    for (std::size_t i = 0; i < Unit::tensors.size(); ++i) {
      if (!belongs(i)) continue;
      const bool follows = joins(i);
      segments_here += !follows || !extends(i);
      if (!follows || segments_here > op::Segments::limit) {
        result.first[pieces++] = {i, i};
        segments_here = 1;
      }
      result.first[pieces - 1].last = i + 1;
    }
    return result;
  }();
  template <std::size_t piece>
  static constexpr auto cut = [] {
    constexpr Range here = ranges.first[piece];
    op::Segments result{};
    std::size_t end = 0;
    for (std::size_t i = here.first; i < here.last; ++i) {
      if (!belongs(i)) continue;
      const walk::TensorPlace& tensor = Unit::tensors[i];
      const std::size_t begin = tensor.gradient - Unit::tensors[here.first].gradient;
      if (result.count > 0 && extends(i)) result.items[result.count - 1].count += tensor.count;
      else result.items[result.count++] = {begin, tensor.count, tensor.decays};
      end = begin + tensor.count;
    }
    return std::pair{result, end};
  }();

 public:
  static constexpr std::size_t count = ranges.second;
  /// Of a piece: its first tensor, its segments, and its number of elements, gaps included.
  template <std::size_t piece>
  static constexpr walk::TensorPlace first = Unit::tensors[ranges.first[piece].first];
  template <std::size_t piece>
  static constexpr op::Segments segments = cut<piece>.first;
  template <std::size_t piece>
  static constexpr std::size_t elements = cut<piece>.second;
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
