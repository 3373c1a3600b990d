// regimen/walk/segments.hpp — the blocks of a Repeat under Checkpoint<Every<N>>: the inputs of segments of N blocks are
// saved, and backward walks a segment again before it walks it back.
#pragma once

#include <regimen/walk/blocks.hpp>

#include <array>
#include <cstddef>

namespace regimen::walk {

template <class Of, std::size_t begin, std::size_t own>
struct Segments : Blocks<Of, begin, own> {
  using All = Blocks<Of, begin, own>;
  using All::run, All::unit;
  using typename All::Body, typename All::Sharding, typename All::UnitOfIteration, typename All::X;

  static constexpr std::size_t every = Of::Context::Checkpoint::segment, segment = every < own ? every : own,
                               segments = (own + segment - 1) / segment, last_segment = own - (segments - 1) * segment;
  static constexpr bool reads_input = true, reads_output = false,
                        keeps_d_y = true;  // a segment is walked again before the gradient is read
  /// Whether the units of a segment are gathered together, side by side, when the segment is walked again.
  static constexpr bool keeps_units = segment > 1 && All::holds_units&& Sharding::slices_parameters&& Sharding::keeps;

  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return (segments - (place == Place::saved ? 0 : 1)) * bytes_of<X>(walk);
  }
  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    if (way.mode == Mode::discard) return All::forward(walk, x, weights, path, way);
    const NextUnit after = walk.after;
    const auto discard = [&](std::size_t s, Place place) {
      const NextUnit next = s + 1 < segments ? unit(walk, weights, begin_of(s + 1), path) : after;
      return run(walk, range_of(s, weights, path, next), input_of(walk, s, x.offset), {Mode::discard, place});
    };
    iterate(walk, segments - 1, bytes_of<X>(walk), segment * unit_bytes(walk), true,
            [&](std::size_t s) { discard(s, Place::saved); });
    const std::size_t y = way.place == Place::nowhere ? absent : discard(segments - 1, way.place);
    if (x.owned) walk.arena.give(x.offset);  // it is computed again before it is read
    return y;
  }
  static constexpr void retire_output(auto& walk, Place place) {
    if (place == Place::saved) pop<X>(walk);
  }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t x, std::size_t, const WeightPlaces& weights,
                                        const LayerPath& path, Place) {
    const NextUnit after = walk.after;
    const auto back = [&](std::size_t s) {
      const NextUnit next = s > 0 ? unit(walk, weights, begin_of(s - 1), path) : after;
      d_y = {run_again_and_back(walk, range_of(s, weights, path, next), d_y, input_of(walk, s, x)), true};
    };
    back(segments - 1);
    iterate(walk, segments - 1, bytes_of<X>(walk), segment * unit_bytes(walk), false, [&](std::size_t i) {
      pop<X>(walk);  // the input of the segment whose backward just ended
      back(segments - 2 - i);
    });
    return passed_on(walk, d_y.offset);
  }
  static constexpr NextUnit first_of_backward(const auto& walk, const WeightPlaces& weights, const LayerPath& path) {
    if constexpr (keeps_units) return {};  // it is gathered with its segment
    else return unit(walk, weights, begin_of(segments - 1), path);
  }

 private:
  using All::passed_on, All::run_back, All::unit_bytes;

  static constexpr std::size_t begin_of(std::size_t s) { return begin + s * segment; }
  static constexpr BlockRange range_of(std::size_t s, const WeightPlaces& weights, const LayerPath& path,
                                       const NextUnit& next) {
    const std::size_t count = s + 1 < segments ? segment : last_segment;
    return {.first = begin_of(s), .count = count, .weights = weights, .path = path, .after = next};
  }
  static constexpr Tensor input_of(const auto& walk, std::size_t s, std::size_t x) {
    return {s == 0 ? x : just_below<X>(walk, walk.arena.top), false};
  }
  static constexpr std::size_t run_again_and_back(auto& walk, BlockRange range, const Tensor& d_y, const Tensor& x) {
    constexpr Place place =
        Body::reads_output ? Place::saved : Place::nowhere;  // only tensors before the output are needed
    const std::size_t bottom = walk.arena.top;
    std::array<std::size_t, keeps_units ? segment : 1> tickets{};
    if constexpr (keeps_units)
      if (walk.ranks > 1) {
        range.gathered = gather_units(walk, range, tickets);
        range.tickets = tickets.data();
      }
    const std::size_t floor = walk.arena.top;
    BlockRange again = range;  // the unit of the last block stays gathered: its backward follows at once
    again.after = unit(walk, range.weights, range.first + range.count - 1, range.path);
    run(walk, again, x, {Mode::save, place});
    const std::size_t d_x = run_back(walk, range, d_y, x.offset, floor, place);
    if constexpr (keeps_units) walk.arena.pop_to(bottom);
    return d_x;
  }
  /// Where the units of a range lie, until its backward has ended.
  static constexpr std::size_t gather_units(auto& walk, const BlockRange& range, auto& tickets) {
    const std::size_t bytes = UnitOfIteration::gathered_bytes(walk.ranks),
                      gathered = walk.arena.push(range.count * bytes, MemoryKind::communication,
                                                 range.path.repeated(range.first, All::iterations));
    walk.repeat(range.count, [&](std::size_t i) {
      tickets[i] = start_all_gather<Sharding>(walk, unit(walk, range.weights, range.first + i, range.path),
                                              gathered + i * bytes);
    });
    return gathered;
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
