// regimen/walk/tensors.hpp — where the tensors of a walk lie: on the saved stack, or on the transient side.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/view.hpp>
#include <regimen/layer/layer.hpp>

#include <array>
#include <cstddef>

namespace regimen::walk {

enum class Mode { save, discard };               // save: backward follows; discard: only the output is needed
enum class Place { saved, transient, nowhere };  // nowhere: in a recomputation that does not need the output
inline constexpr std::size_t place_count = 3;

inline constexpr std::size_t absent = View<char>::absent;

/// How forward is walked.
///   onto   a tensor like the output, which is added to it. Only a walker that says so (`sums_y`) gets one
struct Way {
  Mode mode = Mode::discard;
  Place place = Place::transient;  // of the output
  std::size_t onto = absent;
};

/// A tensor argument of a walker. If `owned`, the callee frees it after its last use;
/// otherwise it is borrowed for the call.
/// Only transient tensors are ever owned.
///   onto   of d_y: a tensor like d_x, which is added to it. Only a walker that says so (`sums_d_x`) gets one
struct Tensor {
  std::size_t offset = absent;
  bool owned = false;
  std::size_t onto = absent;
};

/// Whether a walker adds a sum to its output, and to the gradient of its input. One that does not say so does not.
///   possible   whether the engine has operations that add
template <bool possible, class Walker>
inline constexpr bool joins_y = requires { requires possible && Walker::sums_y; };
template <bool possible, class Walker>
inline constexpr bool joins_d_x = requires { requires possible && Walker::sums_d_x; };

template <class V>
constexpr std::size_t bytes_of(const auto& walk) {
  return TensorArena::align(walk.capacity * V::bytes);
}

template <class Declared>
constexpr std::size_t bytes_of_all([[maybe_unused]] const auto& walk) {
  std::size_t sum = 0;
  if constexpr (Declared::count > 0)
    for (std::size_t bytes : Declared::bytes(walk.capacity)) sum += bytes;
  return sum;
}
/// Offsets of tensors for so many samples, one after the other from `next` on, which moves behind the last.
template <class Declared>
constexpr auto offsets_from([[maybe_unused]] std::size_t samples, [[maybe_unused]] auto&& next) {
  if constexpr (Declared::count == 0) return std::array<std::size_t, 0>{};
  else {
    std::array<std::size_t, Declared::count> offsets = Declared::bytes(samples);
    for (std::size_t& at : offsets) at = (next += at) - at;
    return offsets;
  }
}
/// Allocates tensors: saved ones on their stack, scratch on the transient side.
template <class Declared, MemoryKind kind>
constexpr auto allocate_all([[maybe_unused]] auto& walk, [[maybe_unused]] const LayerPath& path) {
  if constexpr (Declared::count == 0) return std::array<std::size_t, 0>{};
  else {
    std::array<std::size_t, Declared::count> offsets = Declared::bytes(walk.capacity);
    for (std::size_t& at : offsets)
      at = kind == MemoryKind::saved ? walk.arena.push(at, kind, path) : walk.arena.take(at, kind, path);
    return offsets;
  }
}
template <std::size_t Count>
constexpr void give_all([[maybe_unused]] auto& walk, [[maybe_unused]] const std::array<std::size_t, Count>& offsets) {
  if constexpr (Count > 0)
    for (std::size_t offset : offsets) walk.arena.give(offset);
}

template <class V>
constexpr std::size_t allocate(auto& walk, Place place, const LayerPath& path) {
  if (place == Place::saved) return walk.arena.push(bytes_of<V>(walk), MemoryKind::saved, path);
  return walk.arena.take(bytes_of<V>(walk), MemoryKind::transient, path);
}
template <class V>
constexpr void pop(auto& walk) {
  walk.arena.pop_to(walk.arena.top - bytes_of<V>(walk));
}
template <class V>
constexpr std::size_t just_below(const auto& walk, std::size_t offset) {
  return offset - bytes_of<V>(walk);
}
/// Where the layer before has saved a tensor like x: below x, which is the last before `floor`, unless it is
/// recomputed.
template <class X>
constexpr std::size_t saved_before(const auto& walk, std::size_t x, std::size_t floor) {
  return just_below<X>(walk, x == just_below<X>(walk, floor) ? x : floor);
}

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
