// regimen/programs/sketch.hpp — an outline, walked under schedules: its bound of bytes, its operations.
#pragma once

#include <regimen/programs/outline_places.hpp>

#include <cstddef>

namespace regimen::programs {

/// What a walk says of the blocks of a model: mixtures of two schedules take what lies between.
///   below, held      bytes that persist before the blocks' tensors; those of the blocks
///   not_held         of their outputs what is not saved behind the last block
///   ahead, inside    the bound until backward comes to the blocks, and while it is in them; a schedule's is the larger one
///   redone           floating-point operations of recomputation in the blocks
///   groups           Repeats, each with blocks of its own; of several ones `below` and `inside` say nothing
struct OutlineShares {
  std::size_t below = 0, held = 0, not_held = 0, ahead = 0, inside = 0, groups = 0;
  double redone = 0;
};

/// An outline, walked under schedules.
template <std::size_t size>
struct Sketch : OutlinePlaces<size> {
  using Places = OutlinePlaces<size>;
  using Places::Places;
  using typename Places::Kind, typename Places::Place;

  std::size_t top = 0, live = 0, bound = 0;
  double extra = 0;
  OutlineShares shares{};
  bool ready[size]{};

  /// Backward of the whole model, above `base` bytes that persist.
  constexpr void walk_on(std::size_t base) {
    const bool copies = reads_output(0), on_stack = !copies && !keeps_d_y(0);
    const Place place = copies || on_stack ? Place::saved : Place::transient;
    top = base + footprint(0, place);
    live = on_stack ? 0 : parts[0].y;
    note();
    backward(0, base, !on_stack, place);
  }

 private:
  bool in_group = false, in_again = false;

  using Places::parts, Places::schedules, Places::level, Places::again, Places::between, Places::in_blocks,
      Places::is_apart, Places::is_idle, Places::is_redone, Places::keeps_d_y, Places::last_branch, Places::level_of,
      Places::output_again, Places::place_before, Places::place_in_residual, Places::place_of_branch,
      Places::reads_input, Places::reads_output, Places::rest_of, Places::schedule, Places::seam, Places::segment_of,
      Places::segments_of;
  constexpr void note(std::size_t more = 0) {
    const std::size_t now = top + live + more;
    if (now > bound) bound = now;
  }

  // ---- what it takes

  constexpr std::size_t footprint(std::size_t i, Place place) {
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
               (reads_output(part.last) && place == Place::saved ? part.x : 0);
      case Kind::again:
        return place == Place::saved ? part.y : 0;
      case Kind::repeat:
        return in_blocks(i, [&](auto... blocks) { return footprint_from(blocks..., place); });
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
  constexpr std::size_t footprint_from(std::size_t i, std::size_t count, Place place) {
    const std::size_t rest = rest_of(i);
    if (rest == 0) return footprint_of_blocks(i, count, place);
    const std::size_t first = footprint_of_blocks(i, count - rest, seam(i));
    ++level;
    const std::size_t others = footprint_from(i, rest, place);
    --level;
    return first + others;
  }
  constexpr std::size_t footprint_of_blocks(std::size_t i, std::size_t count, Place place) {
    const std::size_t body = parts[i].last, x = parts[i].x;
    if (is_redone(i)) return (segments_of(count) - 1) * x + (place == Place::saved ? x : 0);
    return (count - 1) * footprint(body, between(i)) + footprint(body, place);
  }
  /// Floating-point operations of a forward.
  constexpr double forward(std::size_t i, bool saves, Place place) {
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
      case Kind::repeat:
        if (saves) return in_blocks(i, [&](auto... blocks) { return forward_from(blocks..., place); });
        return in_blocks(i, [&](std::size_t, std::size_t count) {
          return double(count - 1) * forward(part.last, false, Place::transient) + forward(part.last, false, place);
        });
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

  constexpr double forward_from(std::size_t i, std::size_t count, Place place) {
    const std::size_t rest = rest_of(i);
    if (rest == 0) return forward_of_blocks(i, count, place);
    const double first = forward_of_blocks(i, count - rest, seam(i));
    ++level;
    const double others = forward_from(i, rest, place);
    --level;
    return first + others;
  }
  constexpr double forward_of_blocks(std::size_t i, std::size_t count, Place place) {
    const std::size_t body = parts[i].last;
    if (!is_redone(i)) return double(count - 1) * forward(body, true, between(i)) + forward(body, true, place);
    const std::size_t walked = place == Place::nowhere ? (segments_of(count) - 1) * segment_of(count) : count;
    return double(walked) * forward(body, false, Place::transient);
  }

  constexpr void retire(std::size_t i, Place place) {
    const OutlinePart& part = parts[i];
    const bool saved = place == Place::saved;
    switch (part.kind) {
      case Kind::layer:
        if (saved && !reads_output(i)) top -= part.y;
        break;
      case Kind::chain:
        retire(part.last, place);
        break;
      case Kind::again:
        if (saved) top -= part.y;
        break;
      case Kind::residual:
        if (!reads_output(part.last)) retire(part.last, place);
        else if (saved) top -= part.x;
        break;
      case Kind::repeat:
        in_blocks(i, [&](std::size_t, std::size_t) { return retire_from(i, place); });
        break;
      case Kind::fork:
        if (!is_apart(i)) retire(last_branch(i), place);
        else if (saved) top -= part.y;
        break;
      default:
        break;
    }
  }
  constexpr bool retire_from(std::size_t i, Place place) {
    if (rest_of(i) == 0) return retire_blocks(i, place);
    ++level;
    retire_from(i, place);
    --level;
    return true;
  }
  constexpr bool retire_blocks(std::size_t i, Place place) {
    if (!is_redone(i)) retire(parts[i].last, place);
    else if (place == Place::saved) top -= parts[i].x;
    return true;
  }
  /// Computes the value behind child c of a chain again, and before it what it is computed from.
  constexpr void demand(std::size_t c) {
    if (c == 0 || !output_again(c) || ready[c]) return;
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
        const Place inner = reads_output(part.last) ? Place::saved : Place::nowhere;
        const bool was_in_again = in_again;
        extra += forward(part.last, true, inner);
        top = floor + footprint(part.last, inner);
        note();
        in_again = true;
        backward(part.last, floor, owned, inner);
        in_again = was_in_again;
        return;
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
      if (reads_input(c)) demand(before);
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
    const Place place = reads_output(body) ? Place::saved : Place::nowhere;
    extra += double(count - 1) * forward(body, true, between(i)) + forward(body, true, place);
    top += (count - 1) * footprint(body, between(i)) + footprint(body, place);
    note();
    backward_of_blocks(i, count, floor, owned, place);
  }
  constexpr bool backward_under_one(std::size_t i, std::size_t count, std::size_t floor, bool owned, Place place) {
    if (!is_redone(i)) backward_of_blocks(i, count, floor, owned, place);
    else {
      const std::size_t segment = segment_of(count), segments = segments_of(count);
      backward_of_segment(i, count - (segments - 1) * segment, owned);
      if (segments > 1) {
        const double before = extra;
        top -= parts[i].x;
        backward_of_segment(i, segment, true);
        extra += double(segments - 2) * (extra - before);
      }
      top = floor;
    }
    return true;
  }
  constexpr bool backward_from(std::size_t i, std::size_t count, std::size_t floor, bool owned, Place place) {
    const std::size_t rest = rest_of(i);
    if (rest == 0) return backward_under_one(i, count, floor, owned, place);
    const std::size_t bottom = floor + footprint_of_blocks(i, count - rest, seam(i));
    ++level;
    backward_from(i, rest, bottom, owned, place);
    --level;
    retire_blocks(i, seam(i));
    return backward_under_one(i, count - rest, floor, true, seam(i));
  }
  constexpr void backward_of_repeat(std::size_t i, std::size_t floor, bool owned, Place place) {
    const bool is_outer = !in_group && parts[i].active;
    const std::size_t before = bound;
    if (is_outer) {
      if (shares.groups++ == 0) shares.ahead = bound;
      if (in_again) ++shares.groups;  // its tensors are not among those that forward saves
      else shares.held += top - floor;
      if (!in_again && place != Place::saved) shares.not_held += parts[i].x;
      shares.below = floor;
      shares.redone -= extra;
      bound = 0;
      in_group = true;
    }
    in_blocks(i, [&](auto... blocks) { return backward_from(blocks..., floor, owned, place); });
    if (!parts[i].flows && parts[i].active) live -= parts[i].x;
    if (is_outer) {
      if (bound > shares.inside) shares.inside = bound;
      if (before > bound) bound = before;
      shares.redone += extra;
      in_group = false;
    }
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

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
