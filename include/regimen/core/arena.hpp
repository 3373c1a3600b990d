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

/// A tensor that lives in the arena.   number   of a transient one: the count of those that were taken until then
struct ArenaTensor {
  std::size_t offset = 0, bytes = 0;
  MemoryKind kind = MemoryKind::transient;
  LayerPath path{};
  std::size_t number = 0;
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
  std::size_t least = 0;  // bytes of the last line

  /// By pointers: an access to a std::array costs several steps of a constant expression.
  constexpr void add(const ArenaTensor& item, std::size_t copies) {
    bytes_by_kind.data()[static_cast<std::size_t>(item.kind)] += item.bytes * copies;
    if (item.bytes * copies > least) insert(item, copies);
  }

 private:
  constexpr void insert(const ArenaTensor& item, std::size_t copies) {
    Line *const first = largest.data(), *const last = first + largest.size() - 1, *place = last;
    for (; place > first && place[-1].item.bytes * place[-1].copies < item.bytes * copies; --place) *place = place[-1];
    *place = {item, copies};
    least = last->item.bytes * last->copies;
  }
};

}  // namespace detail

/// What is live at the peak, for a plan. It follows the saved tensors; an entry stands for `copies` tensors, `stride`
/// bytes apart: so iterations of a Repeat that the plan skips appear in the report, too.
///
/// The peak is known when the walk has ended. So the report of the highest point so far is written then, or when one
/// of its entries is about to be lost: most points are never reported, as the next one is higher. (Each statement is a
/// step of a constant expression, and compilers limit those.)
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

  constexpr void push(const ArenaTensor& item, const TransientTensors& now) {
    if (count < at_peak_ || count == limit) make_room(now);
    entries[count++] = {
        item.offset, item.bytes, item.kind, item.path.name, item.path.digits, item.path.iteration, item.path.in_repeat,
        1,           1,          0};
  }
  constexpr void pop_to(std::size_t mark, const TransientTensors& now) {
    // Entries are sorted by offset. Of those that stay, the last ones may stand for
    // several copies and straddle the mark.
    while (count > 0 && entries[count - 1].offset >= mark) --count;
    for (std::size_t i = count; i > 0 && entries[i - 1].stride > 1; --i) {
      const std::size_t below = (mark - entries[i - 1].offset + entries[i - 1].stride - 1) / entries[i - 1].stride;
      if (below >= entries[i - 1].copies) continue;
      write(now);
      entries[i - 1].copies = below;
    }
  }
  /// Entries from `first` on stand for `more` tensors more.
  constexpr void repeat(std::size_t first, std::size_t stride, std::size_t more, const TransientTensors& now) {
    write(now);
    for (std::size_t i = first; i < count; ++i) entries[i].stride = stride, entries[i].copies += more;
  }
  /// All is higher than before.   taken   transient tensors until now
  constexpr void reach_peak(std::size_t taken) {
    at_peak_ = count, taken_ = taken, gone_.count = 0, is_written_ = false;
  }
  /// Whether a transient tensor belongs to the report; and that it goes.
  constexpr bool has(const ArenaTensor& item) const { return item.number <= taken_; }
  constexpr void give(const ArenaTensor& item) { gone_.items[gone_.count++] = item; }
  /// Writes the report, if it is not written. At the end of a walk.
  constexpr void write(const TransientTensors& now) {
    if (is_written_) return;
    report = {};
    ++reports_;
    for (std::size_t i = 0; i < now.count; ++i)
      if (has(now.items[i])) give(now.items[i]);
    for (; gone_.count > 0; --gone_.count) {  // as they lie, from the end of the arena downwards
      ArenaTensor *const last = gone_.items + gone_.count - 1, *next = last;
      for (ArenaTensor* item = gone_.items; item != last; ++item)
        if (item->offset > next->offset) next = item;
      report.add(*next, 1);
      *next = *last;
    }
    for (std::size_t i = 0; i < at_peak_; ++i)
      if (entries[i].counted != reports_)
        report.add(entries[i].item(), entries[i].in_repeat ? count_copies(i) : entries[i].copies);
    at_peak_ = taken_ = 0;
    is_written_ = true;
  }

 private:
  constexpr void make_room(const TransientTensors& now) {
    if (count == limit) defect("more saved tensors than a report can hold");
    write(now);
  }

  /// Of an entry and those that are the same tensor in other iterations: they are one line.
  constexpr std::size_t count_copies(std::size_t i) {
    const Entry& first = entries[i];
    std::size_t copies = first.copies;
    for (std::size_t j = i + 1; j < at_peak_; ++j) {
      Entry& other = entries[j];
      if (other.digits != first.digits || other.bytes != first.bytes || other.kind != first.kind ||
          other.name != first.name)
        continue;
      copies += other.copies;
      other.counted = reports_;
    }
    return copies;
  }

  // Of the highest point so far, if it is not written: saved tensors; how many transient ones were taken until then;
  // and those of them that have gone.
  std::size_t at_peak_ = 0, taken_ = 0, reports_ = 0;
  TransientTensors gone_{};
  bool is_written_ = true;
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

  std::size_t capacity = unlimited, top = 0, peak = 0, peak_of_live = 0, taken = 0;
  TransientTensors transients{};
  TensorLog* log = nullptr;
  const Witness* witness = nullptr;

  constexpr std::size_t push(std::size_t bytes, MemoryKind kind, const LayerPath& path) {
    const std::size_t offset = (top += bytes) - bytes;
    if (log) log->push({offset, bytes, kind, path}, transients);
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
    while (place < transients.count &&
           ceiling - (transients.items[place].offset + transients.items[place].bytes) < bytes)
      ceiling = transients.items[place++].offset;
    if (transients.count == TransientTensors::limit) defect("too many live transient tensors");
    for (std::size_t i = transients.count; i > place; --i) transients.items[i] = transients.items[i - 1];
    transients.items[place] = {ceiling - bytes, bytes, kind, path, ++taken};
    ++transients.count, transients.bytes += bytes, note_peak();
    if (witness) witness->lives(witness->self, ceiling - bytes, bytes);
    return ceiling - bytes;
  }
  constexpr void give(std::size_t offset) {
    std::size_t place = 0;
    while (place < transients.count && transients.items[place].offset != offset) ++place;
    if (place == transients.count) defect("given back a tensor that is not a live transient");
    const std::size_t bytes = transients.items[place].bytes;
    if (witness) witness->dies(witness->self, offset, bytes);
    if (log && log->has(transients.items[place])) log->give(transients.items[place]);
    for (std::size_t i = place + 1; i < transients.count; ++i) transients.items[i - 1] = transients.items[i];
    --transients.count, transients.bytes -= bytes;
  }

 private:
  constexpr void note_peak() {
    const std::size_t lowest = transients.count ? transients.items[transients.count - 1].offset : capacity,
                      height = top + (capacity - lowest), live = top + transients.bytes;
    if (top > lowest) defect("out of memory: the two sides of the arena meet");
    if (live > peak_of_live) peak_of_live = live;
    if (height > peak) peak = height, log ? log->reach_peak(taken) : void();
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
