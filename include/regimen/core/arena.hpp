// regimen/core/arena.hpp — one piece of memory with two sides, planned and run by the same code.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/core/path.hpp>
#include <regimen/core/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace regimen {

/// What a byte of the arena is for.
enum class MemoryKind : unsigned char {
  parameter,
  gradient,
  optimizer,
  saved,
  transient,
  scratch,
  communication,
  input,
  cache,
  buffer
};
inline constexpr std::size_t memory_kinds = 10;
inline constexpr std::array<const char*, memory_kinds> memory_kind_names{
    "parameter", "gradient", "optimizer", "saved", "transient", "scratch", "communication", "input", "cache", "buffer"};

/// A tensor that lives in the arena.
struct ArenaTensor {
  std::size_t offset = 0, bytes = 0;
  MemoryKind kind = MemoryKind::transient;
  LayerPath path{};
};

/// The live transient tensors, from the end of the arena downwards. (A plain array: an access to a std::array costs
/// several steps of a constant expression, and compilers limit those steps.)
struct TransientTensors {
  static constexpr std::size_t limit = 32;
  ArenaTensor items[limit]{};
  std::size_t count = 0, bytes = 0;

  constexpr bool same_layout(const TransientTensors& other) const {
    if (count != other.count) return false;
    for (std::size_t i = 0; i < count; ++i)
      if (items[i].offset != other.items[i].offset || items[i].bytes != other.items[i].bytes) return false;
    return true;
  }
};

namespace detail {

/// What was live at the peak. `copies` counts the same tensor in several iterations of a Repeat.
struct LiveTensors {
  struct Line {
    ArenaTensor item{};
    std::size_t copies = 0;
    constexpr std::size_t bytes() const { return item.bytes * copies; }
  };
  std::array<std::size_t, memory_kinds> bytes_by_kind{};
  std::array<Line, 10> largest{};

  /// By pointers: an access to a std::array costs several steps of a constant expression.
  constexpr void add(const ArenaTensor& item, std::size_t copies) {
    const std::size_t bytes = item.bytes * copies;
    bytes_by_kind.data()[static_cast<std::size_t>(item.kind)] += bytes;
    Line *const first = largest.data(), *const last = first + largest.size() - 1;
    if (last->item.bytes * last->copies >= bytes) return;
    Line* place = last;
    for (; place > first && place[-1].item.bytes * place[-1].copies < bytes; --place) *place = place[-1];
    *place = {item, copies};
  }
};

}  // namespace detail

/// What is live at the peak, for a plan. It follows the saved tensors; an entry stands for `copies` tensors, `stride`
/// bytes apart: so iterations of a Repeat that the plan skips appear in the report, too.
///
/// The peak is known when the walk has ended. So the report of the highest point so far is written when the first of
/// its tensors goes, which most points never see: the next one is higher.
struct TensorLog {
  /// Without default values: an array gives them to each of its elements, which costs steps of a constant expression.
  ///   counted   the report that has counted it
  struct Entry {
    std::size_t offset, bytes;
    MemoryKind kind;
    const char* name;
    std::uint64_t digits, iteration;
    bool in_repeat;
    std::size_t stride, copies, counted;

    constexpr ArenaTensor item() const { return {offset, bytes, kind, {name, digits, iteration, in_repeat}}; }
  };
  static constexpr std::size_t limit = 4096;
  Entry entries[limit]{};
  std::size_t count = 0;
  detail::LiveTensors report{};

  constexpr void push(const ArenaTensor& item) {
    if (count == limit) defect("more saved tensors than a report can hold");
    const LayerPath& path = item.path;
    entries[count++] = {item.offset,    item.bytes,     item.kind, path.name, path.digits,
                        path.iteration, path.in_repeat, 1,         1,         0};
  }
  constexpr void pop_to(std::size_t mark, const TransientTensors& now) {
    if (mark < top_) write(now);
    // Entries are sorted by offset. Of those that stay, the last ones may stand for
    // several copies and straddle the mark.
    while (count > 0 && entries[count - 1].offset >= mark) --count;
    for (std::size_t i = count; i > 0 && entries[i - 1].stride > 1; --i) {
      Entry& entry = entries[i - 1];
      const std::size_t below = (mark - entry.offset + entry.stride - 1) / entry.stride;
      if (below < entry.copies) entry.copies = below;
    }
  }
  /// Entries from `first` on stand for `more` tensors more.
  constexpr void repeat(std::size_t first, std::size_t stride, std::size_t more, const TransientTensors& now) {
    write(now);
    for (std::size_t i = first; i < count; ++i) {
      entries[i].stride = stride;
      entries[i].copies += more;
    }
  }
  /// All is higher than before.
  constexpr void reach_peak(std::size_t top) {
    at_peak_ = count;
    top_ = top;
    unwritten_ = Unwritten::all;
  }
  /// Before the transient tensors change; or after one of them, `added`, came.
  constexpr void keep(const TransientTensors& now, std::size_t added = TransientTensors::limit) {
    if (unwritten_ != Unwritten::all) return;
    unwritten_ = Unwritten::saved;
    kept_.count = 0;
    for (std::size_t i = 0; i < now.count; ++i)
      if (i != added) kept_.items[kept_.count++] = now.items[i];
  }
  /// Writes the report, if it is not written. At the end of a walk.
  constexpr void write(const TransientTensors& now) {
    if (unwritten_ == Unwritten::nothing) return;
    keep(now);
    unwritten_ = Unwritten::nothing;
    top_ = 0;
    ++reports_;
    report = {};
    for (std::size_t i = 0; i < kept_.count; ++i) report.add(kept_.items[i], 1);
    for (std::size_t i = 0; i < at_peak_; ++i) {  // the same tensor of several iterations is one line
      const Entry& first = entries[i];
      if (first.counted == reports_) continue;
      std::size_t copies = first.copies;
      for (std::size_t j = i + 1; first.in_repeat && j < at_peak_; ++j) {
        Entry& other = entries[j];
        if (other.digits != first.digits || other.bytes != first.bytes || other.kind != first.kind ||
            other.name != first.name)
          continue;
        copies += other.copies;
        other.counted = reports_;
      }
      report.add(first.item(), copies);
    }
  }

 private:
  enum class Unwritten : unsigned char { nothing, saved, all };  // saved: the transient tensors are kept

  std::size_t at_peak_ = 0, top_ = 0, reports_ = 0;
  Unwritten unwritten_ = Unwritten::nothing;
  TransientTensors kept_{};
};

/// From the bottom up: persistent tensors, then the stack of saved tensors, which backward reads. From the end down:
/// transient tensors, placed first fit. Without memory and with unlimited capacity an arena plans; with memory it runs.
/// `peak` is the largest sum of the two sides, holes included: exactly the bytes of a run.
struct TensorArena {
  static constexpr std::size_t alignment = tensor_alignment, unlimited = std::size_t{1} << 62;
  static constexpr std::size_t align(std::size_t bytes) { return aligned_bytes(bytes); }

  /// Called when a range is allocated or freed, so that tests can poison bytes that nothing may read.
  struct Witness {
    void* self = nullptr;
    void (*dies)(void* self, std::size_t offset, std::size_t bytes) = nullptr;
    void (*lives)(void* self, std::size_t offset, std::size_t bytes) = nullptr;
  };

  std::size_t capacity = unlimited, top = 0, peak = 0, peak_of_live = 0;
  TransientTensors transients{};
  TensorLog* log = nullptr;
  const Witness* witness = nullptr;

  constexpr std::size_t push(std::size_t bytes, MemoryKind kind, const LayerPath& path) {
    const std::size_t offset = top;
    top += bytes;
    if (log) log->push({offset, bytes, kind, path});
    note_peak();
    if (witness) witness->lives(witness->self, offset, bytes);
    return offset;
  }
  constexpr void pop_to(std::size_t mark) {
    if (mark > top) defect("pop above the top of the saved stack");
    if (witness && top > mark) witness->dies(witness->self, mark, top - mark);
    if (log) log->pop_to(mark, transients);
    top = mark;
  }
  constexpr std::size_t take(std::size_t bytes, MemoryKind kind, const LayerPath& path) {
    std::size_t ceiling = capacity, place = 0;
    for (; place < transients.count; ++place) {
      const ArenaTensor& item = transients.items[place];
      if (ceiling - (item.offset + item.bytes) >= bytes) break;
      ceiling = item.offset;
    }
    if (transients.count == TransientTensors::limit) defect("too many live transient tensors");
    for (std::size_t i = transients.count; i > place; --i) transients.items[i] = transients.items[i - 1];
    transients.items[place] = {ceiling - bytes, bytes, kind, path};
    ++transients.count;
    transients.bytes += bytes;
    if (!note_peak() && log) log->keep(transients, place);
    if (witness) witness->lives(witness->self, ceiling - bytes, bytes);
    return ceiling - bytes;
  }
  constexpr void give(std::size_t offset) {
    std::size_t place = 0;
    while (place < transients.count && transients.items[place].offset != offset) ++place;
    if (place == transients.count) defect("given back a tensor that is not a live transient");
    const std::size_t bytes = transients.items[place].bytes;
    if (witness) witness->dies(witness->self, offset, bytes);
    if (log) log->keep(transients);
    for (std::size_t i = place + 1; i < transients.count; ++i) transients.items[i - 1] = transients.items[i];
    --transients.count;
    transients.bytes -= bytes;
  }

 private:
  /// Whether it is higher than before.
  constexpr bool note_peak() {
    const std::size_t lowest = transients.count ? transients.items[transients.count - 1].offset : capacity;
    if (top > lowest) defect("out of memory: the two sides of the arena meet");
    const std::size_t height = top + (capacity - lowest), live = top + transients.bytes;
    if (live > peak_of_live) peak_of_live = live;
    if (height <= peak) return false;
    peak = height;
    if (log) log->reach_peak(top);
    return true;
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
