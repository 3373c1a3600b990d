// regimen/models/names_walk.hpp — a mapping and a model's tensors, side by side.
#pragma once

#include <regimen/layer/layer.hpp>
#include <regimen/models/rules.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace regimen::names::detail {

inline constexpr std::size_t most_axes = 6;

struct Extents {
  std::size_t rank = 0;
  std::array<std::size_t, most_axes> of{};

  constexpr std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t i = 0; i < rank; ++i) product *= of[i];
    return product;
  }
  std::vector<std::size_t> list() const { return {of.begin(), of.begin() + rank}; }
};

/// A line of a mapping.
struct Entry {
  enum class Kind : unsigned char { tensor, layer, also, ignore, open };
  Kind kind = Kind::tensor;
  bool repeats = false;      // of open: it has an index of its own
  bool is_optional = false;  // of open: files may have the prefix or not
  bool joins_next = false;   // this entry and the next are rows of one tensor of ours
  bool is_absent = false;    // files do not have it
  const char* text = "";
  std::size_t first = 0, count = 1, length = 0;          // of open: its indices, and the entries inside
  Extents axes{}, view{};                                // rank 0: as they are
  std::size_t share = 1, shares_before = 0, shares = 1;  // the rows of ours that it is
  std::size_t part = 0, part_count = 1, parts = 1;       // the rows of theirs that ours is
};

/// A tensor of a model, as its walker lists it.
///   layer      equal for the tensors of one layer
///   position   in parameters(), where buffers come last
struct ModelTensor {
  Parameter parameter{};
  bool is_buffer = false;
  std::uint64_t layer = 0;
  std::size_t position = 0;
};

/// How one entry and one tensor correspond. Rows are along axis 0 of the model's viewed tensor.
struct Correspondence {
  Misfit misfit = Misfit::none;
  Extents ours{};  // as viewed
  std::size_t row = 0, rows = 0, their_row = 0, their_rows = 0;
  std::array<std::size_t, most_axes> axes{0, 1, 2, 3, 4, 5};  // axis i of theirs is axis axes[i] of ours
  Extents theirs{};
};

constexpr Correspondence correspond(const Entry& entry, const Parameter& parameter) {
  Correspondence result;
  Extents& ours = result.ours;
  ours.rank = parameter.rank;
  for (std::size_t i = 0; i < ours.rank; ++i) ours.of[i] = parameter.extents[i];
  const bool alone = entry.kind == Entry::Kind::tensor;
  if (entry.view.rank > 0 && (alone || ours.rank > 1)) {
    Extents view = entry.view;
    std::size_t known = 1, open = most_axes;
    for (std::size_t i = 0; i < view.rank; ++i)
      if (view.of[i] == 0 && open == most_axes) open = i;
      else known *= view.of[i];
    if (open < most_axes) view.of[open] = known == 0 ? 0 : ours.size() / known;
    if (view.size() != ours.size()) result.misfit = Misfit::shape_of_tensor;
    ours = view;
  }
  if (entry.share == 0 || entry.part_count == 0 || entry.part_count > entry.parts ||
      entry.part > entry.parts - entry.part_count) {
    result.misfit = Misfit::rows_of_tensor;
    return result;
  }
  if (ours.of[0] % entry.shares != 0) result.misfit = Misfit::rows_of_tensor;
  result.row = ours.of[0] / entry.shares * entry.shares_before;
  result.rows = ours.of[0] / entry.shares * entry.share;
  if (result.rows % entry.part_count != 0) result.misfit = Misfit::rows_of_tensor;
  result.their_row = result.rows / entry.part_count * entry.part;
  result.their_rows = result.rows / entry.part_count * entry.parts;
  if (entry.axes.rank == ours.rank)
    for (std::size_t i = 0; i < ours.rank; ++i) result.axes[i] = entry.axes.of[i];
  else if (entry.axes.rank > 0 && alone) result.misfit = Misfit::shape_of_tensor;
  result.theirs.rank = ours.rank;
  std::array<bool, most_axes> used{};
  for (std::size_t i = 0; i < ours.rank; ++i) {
    const std::size_t axis = result.axes[i];
    if (axis >= ours.rank || used[axis]) {
      result.misfit = Misfit::shape_of_tensor;
      continue;
    }
    used[axis] = true;
    result.theirs.of[i] = axis == 0 ? result.their_rows : ours.of[axis];
  }
  return result;
}

/// The prefixes around an entry.
struct Scope {
  const Scope* outer = nullptr;
  const Entry* open = nullptr;
  std::size_t index = 0;
};

/// Goes through a mapping and a model side by side.
///   sink   place(entry, tensor, correspondence, scope), also(entry, scope), ignore(entry, scope)
template <class Sink>
struct Walk {
  std::span<const Entry> entries;
  std::span<const ModelTensor> tensors;
  Sink& sink;
  Misfit misfit = Misfit::none;
  std::size_t at = 0;    // where it is
  std::size_t next = 0;  // the tensor that is named next
  bool alone = false;    // whether the last entry was a tensor of one piece

  constexpr bool run() {
    return block(0, entries.size(), nullptr) && (next == tensors.size() || fail(Misfit::tensors_without_name, next));
  }

 private:
  constexpr bool fail(Misfit what, std::size_t where) {
    misfit = what;
    at = where;
    return false;
  }
  static constexpr bool names_tensors(const Entry& entry) {
    return entry.kind == Entry::Kind::tensor || entry.kind == Entry::Kind::layer;
  }
  /// Whether a block has all parts of the file's tensor that entry `which` is a part of.
  constexpr bool has_all_parts(std::size_t begin, std::size_t end, std::size_t which) const {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (entries[i].kind == Entry::Kind::open) i += entries[i].length;
      else if (entries[i].parts > 1 && std::string_view(entries[i].text) == entries[which].text) {
        if (entries[i].part != sum || entries[i].parts != entries[which].parts) return false;
        sum += entries[i].part_count;
      }
    return sum == entries[which].parts;
  }
  constexpr bool block(std::size_t begin, std::size_t end, const Scope* scope) {
    for (std::size_t i = begin; i < end; ++i) {
      const Entry& entry = entries[i];
      if (entry.joins_next && !names_tensors(entry)) return fail(Misfit::rows_of_tensor, next);
      if (entry.kind == Entry::Kind::open) {
        for (std::size_t index = entry.first; entry.length > 0 && index < entry.first + entry.count; ++index) {
          const Scope inner{scope, &entry, entry.repeats || scope == nullptr ? index : scope->index};
          if (!block(i + 1, i + 1 + entry.length, &inner)) return false;
        }
        i += entry.length;
        alone = false;
      } else if (entry.kind == Entry::Kind::ignore) {
        sink.ignore(entry, scope);
      } else if (entry.kind == Entry::Kind::also) {
        if (!alone) return fail(Misfit::copy_of_nothing, i);
        sink.also(entry, scope);
      } else {
        std::size_t last = i;
        while (entries[last].joins_next)
          if (!names_tensors(entries[++last])) return fail(Misfit::rows_of_tensor, next);
        if (next == tensors.size()) return fail(Misfit::names_without_tensor, i);
        const std::uint64_t layer = tensors[next].layer;
        do {
          for (std::size_t piece = i; piece <= last; ++piece) {
            const Correspondence both = correspond(entries[piece], tensors[next].parameter);
            if (both.misfit != Misfit::none) return fail(both.misfit, next);
            if (entries[piece].parts > 1 && !has_all_parts(begin, end, piece))
              return fail(Misfit::parts_of_entry, piece);
            sink.place(entries[piece], next, both, scope);
          }
          ++next;
        } while (entry.kind == Entry::Kind::layer && next < tensors.size() && tensors[next].layer == layer);
        alone = last == i && entry.kind == Entry::Kind::tensor;
        i = last;
      }
    }
    return true;
  }
};

/// The tensors of a bound model, in the order in which a mapping names them.
template <class Bound>
struct TensorsOf {
  struct Counter {
    std::size_t parameters = 0, buffers = 0;
    constexpr void operator()(const auto&, const Parameter&, bool) { ++parameters; }
    constexpr void operator()(const auto&, const Parameter&) { ++buffers; }
  };
  static constexpr Counter counts = [] {
    Counter counter;
    Bound::list_tensors(counter);
    return counter;
  }();
  static constexpr std::size_t count = counts.parameters + counts.buffers;
  struct Lister {
    std::array<ModelTensor, count> list{};
    std::size_t here = 0, parameters = 0, buffers = counts.parameters;
    constexpr void operator()(const auto& layer, const Parameter& parameter, bool) {
      list[here++] = {parameter, false, layer.name, parameters++};
    }
    constexpr void operator()(const auto& layer, const Parameter& parameter) {
      list[here++] = {parameter, true, layer.name, buffers++};
    }
  };
  static constexpr std::array<ModelTensor, count> list = [] {
    Lister lister;
    Bound::list_tensors(lister);
    return lister.list;
  }();
};

struct Verdict {
  Misfit misfit = Misfit::none;
  std::size_t at = 0;
};
constexpr Verdict compare(std::span<const Entry> entries, std::span<const ModelTensor> tensors) {
  struct Nothing {
    constexpr void place(const Entry&, std::size_t, const Correspondence&, const Scope*) {}
    constexpr void also(const Entry&, const Scope*) {}
    constexpr void ignore(const Entry&, const Scope*) {}
  } nothing;
  Walk<Nothing> walk{entries, tensors, nothing};
  walk.run();
  return {walk.misfit, walk.at};
}

}  // namespace regimen::names::detail
// SPDX-License-Identifier: Apache-2.0
