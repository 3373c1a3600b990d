// regimen/programs/pieces.hpp — which tensors of a unit one update covers.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/walk/unit.hpp>

#include <cstddef>
#include <span>
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

/// Neighbouring trained tensors of a group whose copies lie as their gradients do, with one element type, as long as
/// their segments fit: what one update covers. Gaps between tensors are in no segment, nor are tensors of other groups.
struct Piece final {
  walk::TensorPlace first{};
  op::Segments segments{};
  std::size_t elements = 0;  // gaps included
  std::size_t end = 0;       // the index of the tensor behind its last one
};

/// The first piece of a group among the tensors of a unit from the `begin`-th on; without segments, if there is none.
constexpr Piece piece_from(std::span<const walk::TensorPlace> tensors, std::size_t group, std::size_t begin) {
  Piece piece{};
  op::Segments& segments = piece.segments;
  const walk::TensorPlace* before = nullptr;
  for (std::size_t i = begin; i < tensors.size(); ++i) {
    const walk::TensorPlace& here = tensors[i];
    if (!here.trains && before != nullptr) break;
    if (!here.trains || here.group != group) continue;
    if (before == nullptr) piece.first = here;
    else if (before->element != here.element ||
             before->values + (here.gradient - before->gradient) * bytes_of(here.element) != here.values)
      break;
    const std::size_t first = here.gradient - piece.first.gradient;
    if (before != nullptr && before->decays == here.decays && before->gradient + before->count == here.gradient) {
      segments.items[segments.count - 1].count += here.count;
    } else {
      if (segments.count == op::Segments::limit) break;
      segments.items[segments.count++] = {first, here.count, here.decays};
    }
    piece.elements = first + here.count;
    piece.end = i + 1;
    before = &here;
  }
  return piece;
}

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
