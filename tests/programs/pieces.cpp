// tests/programs/pieces.cpp — which tensors of a unit one update covers.
#include <regimen/programs/pieces.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <vector>

using namespace regimen;
using programs::Piece;

namespace {

constexpr std::size_t each = 8;  // elements of a tensor
using Places = std::vector<walk::TensorPlace>;

/// Tensors in fp32 of one group, one behind the other, without gaps.
Places row_of(std::size_t count) {
  Places tensors(count);
  for (std::size_t i = 0; i < count; ++i)
    tensors[i] = {.values = 4 * each * i, .master = each * i, .gradient = each * i, .count = each};
  return tensors;
}
/// What lies behind tensor i moves by so many elements, and bytes of its copy.
void move_behind(Places& tensors, std::size_t i, std::size_t elements, std::size_t bytes) {
  while (++i < tensors.size()) tensors[i].gradient += elements, tensors[i].values += bytes;
}
std::vector<Piece> pieces_of(const Places& tensors, std::size_t group = 0) {
  std::vector<Piece> pieces;
  for (Piece piece = programs::piece_from(tensors, group, 0); piece.segments.count > 0;
       piece = programs::piece_from(tensors, group, piece.end))
    pieces.push_back(piece);
  return pieces;
}
/// The first tensor of each piece, by its values, and its length.
struct Found {
  std::size_t values, elements, segments;
  bool operator==(const Found&) const = default;
};
std::vector<Found> found_in(const Places& tensors, std::size_t group = 0) {
  std::vector<Found> found;
  for (const Piece& piece : pieces_of(tensors, group))
    found.push_back({piece.first.values, piece.elements, piece.segments.count});
  return found;
}

}  // namespace

TEST_CASE("neighbours are one piece, and one segment as long as they decay alike") {
  Places tensors = row_of(5);
  CHECK(found_in(tensors) == std::vector<Found>{{0, 5 * each, 1}});
  tensors[2].decays = true;
  CHECK(found_in(tensors) == std::vector<Found>{{0, 5 * each, 3}});
  const op::Segments segments = pieces_of(tensors)[0].segments;
  CHECK(segments.items[1].offset == 2 * each);
  CHECK(segments.items[1].count == each);
  CHECK(segments.items[1].decays);
  CHECK(segments.items[2].count == 2 * each);
  CHECK(found_in({}).empty());
}
TEST_CASE("a gap is in the piece, and in no segment; where the copies have another, it ends") {
  Places tensors = row_of(3);
  move_behind(tensors, 0, 2, 8);
  CHECK(found_in(tensors) == std::vector<Found>{{0, 3 * each + 2, 2}});
  CHECK(pieces_of(tensors)[0].segments.items[1].offset == each + 2);
  move_behind(tensors, 1, 2, 4);
  CHECK(found_in(tensors) == std::vector<Found>{{0, 2 * each + 2, 2}, {tensors[2].values, each, 1}});
}
TEST_CASE("a frozen tensor ends a piece; one of another group is left out of it") {
  Places tensors = row_of(4);
  tensors[0].trains = false;
  CHECK(found_in(tensors) == std::vector<Found>{{tensors[1].values, 3 * each, 1}});
  tensors[2].group = 1;
  CHECK(found_in(tensors) == std::vector<Found>{{tensors[1].values, 3 * each, 2}});
  CHECK(found_in(tensors, 1) == std::vector<Found>{{tensors[2].values, each, 1}});
  tensors[2].trains = false;
  CHECK(found_in(tensors) == std::vector<Found>{{tensors[1].values, each, 1}, {tensors[3].values, each, 1}});
  for (walk::TensorPlace& tensor : tensors) tensor.trains = false;
  CHECK(found_in(tensors).empty());
}
TEST_CASE("a piece has one element type, and as many segments as an operation takes") {
  Places tensors = row_of(3);
  tensors[1].element = ElementType::float64;
  CHECK(found_in(tensors).size() == 3);
  constexpr std::size_t limit = op::Segments::limit;
  tensors = row_of(limit + 1);
  for (std::size_t i = 0; i < tensors.size(); i += 2) tensors[i].decays = true;
  CHECK(found_in(tensors) == std::vector<Found>{{0, limit * each, limit}, {tensors[limit].values, each, 1}});
}
// SPDX-License-Identifier: Apache-2.0
