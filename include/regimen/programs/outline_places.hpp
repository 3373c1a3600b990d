// regimen/programs/outline_places.hpp — an outline under schedules: what backward reads, and where each value lies.
#pragma once

#include <regimen/programs/outline.hpp>
#include <regimen/walk/walk.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::programs {

/// A schedule as numbers: see Checkpoint.   layers   a bit for each that is recomputed
struct OutlineSchedule {
  std::uint64_t layers = 0;
  std::size_t segment = 0;
};
/// One for all blocks but the last whole[0], one for these but the last whole[1], and one for those.
struct OutlineSchedules {
  static constexpr std::size_t levels = 3;
  OutlineSchedule of[levels]{};
  std::size_t whole[levels]{};  // the last is 0
};

/// What the walkers say of a model under these schedules.
template <std::size_t size>
struct OutlinePlaces {
  using Kind = OutlinePart::Kind;
  using Place = walk::Place;

  const OutlinePart* parts;
  OutlineSchedules schedules;
  std::size_t level = 0;  // which schedule is followed
  struct Flags {
    bool reads_input = false, reads_output = false, keeps_d_y = false, again = false;
    bool output_read = false, output_again = false;  // in a chain: of the value behind a child
  };
  Flags flags[OutlineSchedules::levels][size]{};

  constexpr OutlinePlaces(const OutlinePart* all, const OutlineSchedules& chosen) : parts(all), schedules(chosen) {
    while (schedules.whole[level] > 0) ++level;
    for (++level; level-- > 0;)
      for (std::size_t i = size; i-- > 0;) look_at(i);
    level = 0;
  }
  constexpr bool output_read(std::size_t i) const { return flags[level][i].output_read; }

 protected:
  // ---- what is read, as walk::Chain and the other walkers say

  constexpr bool reads_input(std::size_t i) const { return flags[level][i].reads_input; }
  constexpr bool reads_output(std::size_t i) const { return flags[level][i].reads_output; }
  constexpr bool keeps_d_y(std::size_t i) const { return flags[level][i].keeps_d_y; }
  constexpr bool again(std::size_t i) const { return flags[level][i].again; }
  constexpr bool output_again(std::size_t i) const { return flags[level][i].output_again; }

  constexpr const OutlineSchedule& schedule() const { return schedules.of[level]; }
  constexpr bool is_redone(std::size_t i) const { return schedule().segment > 0 && parts[i].active; }
  /// Which schedule the first blocks of a Repeat follow, and how many blocks follow later ones.
  constexpr std::size_t level_of(std::size_t i) const {
    std::size_t of = level;
    while (schedules.whole[of] > 0 && schedules.whole[of] >= parts[i].count) ++of;
    return of;
  }
  constexpr std::size_t rest_of(std::size_t i) const { return parts[i].active ? schedules.whole[level] : 0; }

  constexpr void look_at(std::size_t i) {
    const OutlinePart& part = parts[i];
    const std::size_t inner = part.last;
    switch (part.kind) {
      case Kind::layer: {
        flags[level][i].again = (part.again & schedule().layers) != 0;
        const Reads reads = part.reads != Reads::input_or_output ? part.reads : again(i) ? Reads::input : Reads::output;
        flags[level][i].reads_input = reads == Reads::input || reads == Reads::input_and_output;
        flags[level][i].reads_output = reads == Reads::output || reads == Reads::input_and_output;
        break;
      }
      case Kind::chain: {
        bool read = false;  // whether the value behind child c is read by what comes behind it
        for (std::size_t c = inner; c != 0; c = parts[c].before) {
          if (c != inner) {
            flags[level][c].output_read = read || reads_output(c);
            flags[level][c].output_again = output_read(c) && again(c);
          }
          read = reads_input(c) || (again(c) && output_read(c));
        }
        flags[level][i].reads_input = read;
        flags[level][i].reads_output = reads_output(inner);
        flags[level][i].keeps_d_y = keeps_d_y(inner);
        break;
      }
      case Kind::residual:
        flags[level][i].reads_input = reads_input(inner);
        flags[level][i].keeps_d_y = true;
        break;
      case Kind::repeat: {
        const std::size_t before = level;
        level = level_of(i);
        Flags& seen = flags[before][i];
        seen.reads_input = is_redone(i) || reads_input(inner);
        while (rest_of(i) > 0) ++level;
        seen.reads_output = !is_redone(i) && reads_output(inner);
        seen.keeps_d_y = is_redone(i) || keeps_d_y(inner);
        level = before;
        break;
      }
      case Kind::again:
        flags[level][i].reads_input = part.active;
        flags[level][i].keeps_d_y = true;
        break;
      case Kind::fork:
        flags[level][i].reads_input = part.reads_values && part.has_input;
        flags[level][i].keeps_d_y = part.adds;
        for (std::size_t c = inner; c != 0; c = parts[c].before) {
          flags[level][i].reads_input = reads_input(i) || reads_input(c);
          flags[level][i].keeps_d_y = keeps_d_y(i) || keeps_d_y(c);
        }
        break;
      default:
        break;
    }
  }
  /// Where the output of child `c` of a chain goes, if that of the child behind it goes to `next`.
  constexpr Place place_before(std::size_t c, std::size_t behind, Place next) const {
    if (output_read(c) && !output_again(c)) return Place::saved;
    return is_idle(behind, next) && is_idle(behind, Place::nowhere) ? Place::nowhere : Place::transient;
  }
  constexpr std::size_t last_branch(std::size_t i) const {
    const std::size_t c = parts[i].last;
    return parts[c].kind == Kind::input ? parts[c].before : c;
  }
  constexpr Place place_of_branch(std::size_t i, std::size_t c, Place place) const {
    if (parts[i].reads_values || reads_output(c)) return Place::saved;
    return place == Place::nowhere || (parts[i].adds && c == last_branch(i)) ? place : Place::transient;
  }
  constexpr Place place_in_residual(std::size_t i, Place place) const {
    return reads_output(parts[i].last) ? Place::saved : place;
  }
  constexpr Place between(std::size_t i) const {
    const std::size_t body = parts[i].last;
    return reads_input(body) || reads_output(body) ? Place::saved : Place::transient;
  }
  /// The place of the value between the first blocks and the others.
  constexpr Place seam(std::size_t i) const {
    const Flags& other = flags[level + 1][parts[i].last];
    return schedules.of[level + 1].segment > 0 || other.reads_input || (!is_redone(i) && reads_output(parts[i].last))
               ? Place::saved
               : Place::transient;
  }
  constexpr bool is_apart(std::size_t i) const { return !parts[i].adds || reads_output(last_branch(i)); }

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

  constexpr std::size_t segment_of(std::size_t count) const {
    return schedule().segment < count ? schedule().segment : count;
  }
  constexpr std::size_t segments_of(std::size_t count) const {
    return (count + segment_of(count) - 1) / segment_of(count);
  }
  /// Calls f(i, number of blocks) while the level is that of the first blocks of Repeat i.
  constexpr auto in_blocks(std::size_t i, auto&& f) {
    const std::size_t before = level;
    level = level_of(i);
    const auto result = f(i, parts[i].count);
    level = before;
    return result;
  }
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
