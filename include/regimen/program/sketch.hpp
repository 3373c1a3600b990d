// regimen/program/sketch.hpp — an outline, walked under one schedule: its bound of bytes, its operations.
#pragma once

#include <regimen/program/outline.hpp>
#include <regimen/walk/walk.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::train {

/// A schedule as numbers: see Checkpoint.   layers   a bit for each that is recomputed
struct OutlineSchedule {
  std::uint64_t layers = 0;
  std::size_t segment = 0, whole = 0;
};

/// An outline, walked under one schedule.
template <std::size_t size>
struct Sketch {
  using Kind = OutlinePart::Kind;
  using Place = walk::Place;

  const OutlinePart* parts;
  OutlineSchedule schedule;
  std::size_t top = 0, live = 0, bound = 0;
  double extra = 0;
  bool reads_input[size]{}, reads_output[size]{}, keeps_d_y[size]{}, again[size]{};
  bool output_read[size]{}, output_again[size]{};  // in a chain: of the value behind a child
  bool ready[size]{};

  constexpr Sketch(const OutlinePart* all, OutlineSchedule chosen) : parts(all), schedule(chosen) {
    for (std::size_t i = size; i-- > 0;) look_at(i);
  }

  /// Backward of the whole model, above `base` bytes that persist.
  constexpr void walk_on(std::size_t base) {
    const bool copies = reads_output[0], on_stack = !copies && !keeps_d_y[0];
    const Place place = copies || on_stack ? Place::saved : Place::transient;
    top = base + footprint(0, place);
    live = on_stack ? 0 : parts[0].y;
    note();
    backward(0, base, !on_stack, place);
  }

 private:
  constexpr void note(std::size_t more = 0) {
    const std::size_t now = top + live + more;
    if (now > bound) bound = now;
  }

  // ---- what is read, as walk::Chain and the other walkers say

  constexpr bool is_redone(std::size_t i) const {
    return schedule.segment > 0 && schedule.whole < parts[i].count && parts[i].active;
  }
  constexpr std::size_t whole_of(std::size_t i) const { return is_redone(i) ? schedule.whole : parts[i].count; }

  constexpr void look_at(std::size_t i) {
    const OutlinePart& part = parts[i];
    const std::size_t inner = part.last;
    switch (part.kind) {
      case Kind::layer: {
        again[i] = (part.again & schedule.layers) != 0;
        const Reads reads = part.reads != Reads::input_or_output ? part.reads : again[i] ? Reads::input : Reads::output;
        reads_input[i] = reads == Reads::input || reads == Reads::input_and_output;
        reads_output[i] = reads == Reads::output || reads == Reads::input_and_output;
        break;
      }
      case Kind::chain: {
        bool read = false;  // whether the value behind child c is read by what comes behind it
        for (std::size_t c = inner; c != 0; c = parts[c].before) {
          if (c != inner) {
            output_read[c] = read || reads_output[c];
            output_again[c] = output_read[c] && again[c];
          }
          read = reads_input[c] || (again[c] && output_read[c]);
        }
        reads_input[i] = read;
        reads_output[i] = reads_output[inner];
        keeps_d_y[i] = keeps_d_y[inner];
        break;
      }
      case Kind::residual:
        reads_input[i] = reads_input[inner];
        keeps_d_y[i] = true;
        break;
      case Kind::repeat:
        reads_input[i] = is_redone(i) || reads_input[inner];
        reads_output[i] = whole_of(i) > 0 && reads_output[inner];
        keeps_d_y[i] = whole_of(i) == 0 || keeps_d_y[inner];
        break;
      case Kind::again:
        reads_input[i] = part.active;
        keeps_d_y[i] = true;
        break;
      case Kind::fork:
        reads_input[i] = part.reads_values && part.has_input;
        keeps_d_y[i] = part.adds;
        for (std::size_t c = inner; c != 0; c = parts[c].before) {
          reads_input[i] = reads_input[i] || reads_input[c];
          keeps_d_y[i] = keeps_d_y[i] || keeps_d_y[c];
        }
        break;
      default:
        break;
    }
  }
  /// Where the output of child `c` of a chain goes, if that of the child behind it goes to `next`.
  constexpr Place place_before(std::size_t c, std::size_t behind, Place next) const {
    if (output_read[c] && !output_again[c]) return Place::saved;
    return is_idle(behind, next) && is_idle(behind, Place::nowhere) ? Place::nowhere : Place::transient;
  }
  constexpr std::size_t last_branch(std::size_t i) const {
    const std::size_t c = parts[i].last;
    return parts[c].kind == Kind::input ? parts[c].before : c;
  }
  constexpr Place place_of_branch(std::size_t i, std::size_t c, Place place) const {
    if (parts[i].reads_values || reads_output[c]) return Place::saved;
    return place == Place::nowhere || (parts[i].adds && c == last_branch(i)) ? place : Place::transient;
  }
  constexpr Place place_in_residual(std::size_t i, Place place) const {
    return reads_output[parts[i].last] ? Place::saved : place;
  }
  constexpr Place between(std::size_t i) const {
    const std::size_t body = parts[i].last;
    return reads_input[body] || reads_output[body] ? Place::saved : Place::transient;
  }
  constexpr bool is_apart(std::size_t i) const { return !parts[i].adds || reads_output[last_branch(i)]; }

  constexpr bool is_idle(std::size_t i, Place place) const {
    const OutlinePart& part = parts[i];
    switch (part.kind) {
      case Kind::layer:
        return place == Place::nowhere && part.saved == 0;
      case Kind::chain:
        for (std::size_t c = part.last;;) {
          if (!is_idle(c, place)) return false;
          const std::size_t before = parts[c].before;
          if (before == 0) return true;
          place = place_before(before, c, place);
          c = before;
        }
      case Kind::residual:
        return is_idle(part.last, place_in_residual(i, place));
      case Kind::again:
        return place == Place::nowhere;
      case Kind::fork:
        if (!part.adds && place != Place::nowhere) return false;
        for (std::size_t c = part.last; c != 0; c = parts[c].before)
          if (parts[c].kind != Kind::input && !is_idle(c, place_of_branch(i, c, place))) return false;
        return true;
      default:
        return false;
    }
  }

  // ---- what it takes

  constexpr std::size_t footprint(std::size_t i, Place place) const {
    const OutlinePart& part = parts[i];
    switch (part.kind) {
      case Kind::layer:
        return part.saved + (place == Place::saved ? part.y : 0);
      case Kind::chain: {
        std::size_t sum = 0;
        for (std::size_t c = part.last;;) {
          sum += footprint(c, place);
          const std::size_t before = parts[c].before;
          if (before == 0) return sum;
          place = place_before(before, c, place);
          c = before;
        }
      }
      case Kind::residual:
        return footprint(part.last, place_in_residual(i, place)) +
               (reads_output[part.last] && place == Place::saved ? part.x : 0);
      case Kind::again:
        return place == Place::saved ? part.y : 0;
      case Kind::repeat: {
        const std::size_t whole = whole_of(i), x = part.x, segments = segments_of(i);
        if (whole == 0) return (segments - 1) * x + (place == Place::saved ? x : 0);
        return segments * x + (whole - 1) * footprint(part.last, between(i)) + footprint(part.last, place);
      }
      case Kind::fork: {
        std::size_t sum = is_apart(i) && place == Place::saved ? part.y : 0;
        for (std::size_t c = part.last; c != 0; c = parts[c].before)
          if (parts[c].kind != Kind::input) sum += footprint(c, place_of_branch(i, c, place));
        return sum;
      }
      default:
        return 0;
    }
  }
  constexpr std::size_t segment_of(std::size_t i) const {
    const std::size_t redone = parts[i].count - whole_of(i);
    return schedule.segment < redone ? schedule.segment : redone;
  }
  constexpr std::size_t segments_of(std::size_t i) const {
    return is_redone(i) ? (parts[i].count - schedule.whole + segment_of(i) - 1) / segment_of(i) : 0;
  }

  /// Floating-point operations of a forward.
  constexpr double forward(std::size_t i, bool saves, Place place) const {
    const OutlinePart& part = parts[i];
    switch (part.kind) {
      case Kind::layer:
        return is_idle(i, place) ? 0 : part.operations;
      case Kind::chain: {
        double sum = 0;
        for (std::size_t c = part.last;;) {
          sum += forward(c, saves, place);
          const std::size_t before = parts[c].before;
          if (before == 0) return sum;
          place = saves ? place_before(before, c, place) : Place::transient;
          c = before;
        }
      }
      case Kind::residual:
        return forward(part.last, saves, saves ? place_in_residual(i, place) : place) +
               (place != Place::nowhere ? part.operations : 0);
      case Kind::again:
        return place == Place::nowhere ? 0 : forward(part.last, false, saves ? Place::transient : place);
      case Kind::repeat: {
        const double one = forward(part.last, false, Place::transient);
        if (saves && !is_redone(i))
          return double(part.count - 1) * forward(part.last, true, between(i)) + forward(part.last, true, place);
        if (!saves) return double(part.count - 1) * one + forward(part.last, false, place);
        const std::size_t whole = whole_of(i), redone = part.count - whole;
        if (whole > 0)
          return double(redone) * one + double(whole - 1) * forward(part.last, true, between(i)) +
                 forward(part.last, true, place);
        return double(place == Place::nowhere ? (segments_of(i) - 1) * segment_of(i) : redone) * one;
      }
      case Kind::fork: {
        double sum = place != Place::nowhere ? part.operations : 0;
        for (std::size_t c = part.last; c != 0; c = parts[c].before)
          if (parts[c].kind != Kind::input)
            sum += forward(c, saves,
                           saves ? place_of_branch(i, c, place)
                           : place == Place::nowhere || (part.adds && c == last_branch(i)) ? place
                                                                                           : Place::transient);
        return sum;
      }
      default:
        return 0;
    }
  }

  constexpr void retire(std::size_t i, Place place) {
    const OutlinePart& part = parts[i];
    const bool saved = place == Place::saved;
    switch (part.kind) {
      case Kind::layer:
        if (saved && !reads_output[i]) top -= part.y;
        break;
      case Kind::chain:
        retire(part.last, place);
        break;
      case Kind::again:
        if (saved) top -= part.y;
        break;
      case Kind::residual:
        if (!reads_output[part.last]) retire(part.last, place);
        else if (saved) top -= part.x;
        break;
      case Kind::repeat:
        if (whole_of(i) > 0) retire(part.last, place);
        else if (saved) top -= part.x;
        break;
      case Kind::fork:
        if (!is_apart(i)) retire(last_branch(i), place);
        else if (saved) top -= part.y;
        break;
      default:
        break;
    }
  }
  /// Computes the value behind child c of a chain again, and before it what it is computed from.
  constexpr void demand(std::size_t c) {
    if (c == 0 || !output_again[c] || ready[c]) return;
    demand(parts[c].before);
    extra += parts[c].operations;
    live += parts[c].y;
    note();
    ready[c] = true;
  }

  /// Consumes the gradient of the output if it is `owned`, and gives that of the input, if there is one.
  constexpr void backward(std::size_t i, std::size_t floor, bool owned, Place place) {
    const OutlinePart& part = parts[i];
    switch (part.kind) {
      case Kind::layer:
        note(owned ? part.taken : part.lent);
        live += part.gradient;
        if (owned) live -= part.y;
        break;
      case Kind::chain:
        return backward_of_chain(i, floor, owned, place);
      case Kind::residual:
        backward(part.last, floor, false, place_in_residual(i, place));
        if (owned) live -= part.y;
        break;
      case Kind::again: {
        const Place inner = reads_output[part.last] ? Place::saved : Place::nowhere;
        extra += forward(part.last, true, inner);
        top = floor + footprint(part.last, inner);
        note();
        return backward(part.last, floor, owned, inner);
      }
      case Kind::repeat:
        return backward_of_repeat(i, floor, owned, place);
      case Kind::fork:
        return backward_of_fork(i, floor, owned, place);
      default:  // knows nothing of it
        if (owned) live -= part.y;
    }
    top = floor;
  }
  constexpr void backward_of_chain(std::size_t i, std::size_t floor, bool owned, Place place) {
    std::size_t end = floor + footprint(i, place);
    for (std::size_t c = parts[i].last;;) {
      if (!parts[c].active) {  // nor is any before
        if (owned) live -= parts[c].y;
        top = floor;
        return;
      }
      if (c != parts[i].last) retire(c, place);
      end -= footprint(c, place);
      const std::size_t before = parts[c].before;
      if (reads_input[c]) demand(before);
      backward(c, end, owned, place);
      if (before == 0) return;
      if (ready[before]) {
        live -= parts[before].y;
        ready[before] = false;
      }
      owned = true;
      place = place_before(before, c, place);
      c = before;
    }
  }
  /// Iterations that are alike: the last two are walked.
  constexpr void backward_of_blocks(std::size_t i, std::size_t count, std::size_t floor, bool owned, Place place) {
    const std::size_t body = parts[i].last, stride = footprint(body, between(i));
    backward(body, floor + (count - 1) * stride, owned, place);
    if (count > 1) {
      const double before = extra;
      retire(body, between(i));
      backward(body, floor + (count - 2) * stride, true, between(i));
      extra += double(count - 2) * (extra - before);
    }
    top = floor;
  }
  constexpr void backward_of_segment(std::size_t i, std::size_t count, bool owned) {
    const std::size_t body = parts[i].last, floor = top;
    const Place place = reads_output[body] ? Place::saved : Place::nowhere;
    extra += double(count - 1) * forward(body, true, between(i)) + forward(body, true, place);
    top += (count - 1) * footprint(body, between(i)) + footprint(body, place);
    note();
    backward_of_blocks(i, count, floor, owned, place);
  }
  constexpr void backward_of_repeat(std::size_t i, std::size_t floor, bool owned, Place place) {
    const OutlinePart& part = parts[i];
    if (!is_redone(i)) backward_of_blocks(i, part.count, floor, owned, place);
    else {
      const std::size_t whole = schedule.whole, segment = segment_of(i), segments = segments_of(i),
                        shorter = part.count - whole - (segments - 1) * segment;
      if (whole > 0) {
        backward_of_blocks(i, whole, floor + segments * part.x, owned, place);
        top -= part.x;
        owned = true;
      }
      backward_of_segment(i, shorter, owned);
      if (segments > 1) {
        const double before = extra;
        top -= part.x;
        backward_of_segment(i, segment, true);
        extra += double(segments - 2) * (extra - before);
      }
      top = floor;
    }
    if (!part.flows && part.active) live -= part.x;
  }
  constexpr void backward_of_fork(std::size_t i, std::size_t floor, bool owned, Place place) {
    const OutlinePart& part = parts[i];
    const bool has_input = part.has_input && part.flows;
    if (!part.adds) {
      for (std::size_t c = part.last; c != 0; c = parts[c].before)
        if (parts[c].active && parts[c].kind != Kind::input) live += parts[c].y;
      if (has_input) live += part.x;
      note();
      if (owned) live -= part.y;
    }
    std::size_t end = floor + footprint(i, place) - (is_apart(i) && place == Place::saved ? part.y : 0);
    bool given = has_input && !part.adds;  // whether a gradient of x is owned
    std::size_t bytes = part.x;
    for (std::size_t c = part.last; c != 0; c = parts[c].before) {
      if (parts[c].kind == Kind::input) continue;
      const Place here = place_of_branch(i, c, place);
      end -= footprint(c, here);
      if (part.reads_values) retire(c, Place::saved);
      const std::size_t before = live, own = !part.adds && parts[c].active ? parts[c].y : 0;
      backward(c, end, own > 0, here);
      if (!part.flows) continue;
      if (given) live -= bytes;
      bytes = live + own + (given ? bytes : 0) - before;
      given = true;
    }
    if (part.adds && owned) live -= part.y;
    top = floor;
  }
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
