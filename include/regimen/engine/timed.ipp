// regimen/engine/timed.ipp — measurements of an engine, kept and printed.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/engine/timed.hpp>

#include <algorithm>
#include <cstring>

namespace regimen {

REGIMEN_INLINE std::string OperationShape::text() const {
  std::string text;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i > 0) text += 'x';
    text += std::to_string(extents[i]);
  }
  if (rank == 3) text += transpose_a ? (transpose_b ? " TT" : " TN") : (transpose_b ? " NT" : " NN");
  if (causal) text += " causal";
  if (add) text += " +=";
  return text;
}
REGIMEN_INLINE void OperationTimes::add(const char* name, op::Phase phase, const OperationShape& shape,
                                        const Cost& cost, double began, double seconds) {
  if (pauses_) return;
  if (operations_ == 0) origin_ = began;
  const std::size_t row = row_of(name, phase, shape);
  OperationTime& time = rows_[row];
  time.fastest = time.calls == 0 || seconds < time.fastest ? seconds : time.fastest;
  ++time.calls;
  time.seconds += seconds;
  time.flops += cost.flops;
  time.bytes += cost.bytes;
  seconds_ += seconds;
  if (events_.size() < trace_limit) events_.push_back({row, began, seconds});
  else events_[operations_ % trace_limit] = {row, began, seconds};
  ++operations_;
}
REGIMEN_INLINE void OperationTimes::clear() { *this = OperationTimes{}; }
REGIMEN_INLINE void OperationTimes::start(CollectiveTime collective, double seconds) {
  if (pauses_) return;
  collective.before = operations_;
  waited_[static_cast<std::size_t>(collective.phase)] += seconds;
  if (collectives_.size() < trace_limit) collectives_.push_back(collective);
  else collectives_[started_ % trace_limit] = collective;
  ++started_;
}
/// The collectives that have ended with this wait are those up to its ticket, which nobody has waited for: they end in
/// the order of their starts.
REGIMEN_INLINE void OperationTimes::await(std::size_t ticket, op::Phase phase, double began, double ended) {
  if (pauses_) return;
  waited_[static_cast<std::size_t>(phase)] += ended - began;
  for (; timed_ < started_; ++timed_) {
    CollectiveTime& collective = collectives_[timed_ % trace_limit];
    if (collective.ticket > ticket) break;
    collective.before_wait = operations_;
    collective.awaited = began;
    collective.ended = ended;
  }
}
REGIMEN_INLINE void OperationTimes::copy(CopyTime::Kind kind, std::size_t bytes, double seconds) {
  if (pauses_) return;
  CopyTime& time = copies_[static_cast<std::size_t>(kind)];
  time.kind = kind;
  time.fastest = time.calls == 0 || seconds < time.fastest ? seconds : time.fastest;
  ++time.calls;
  time.bytes += bytes;
  time.seconds += seconds;
}
REGIMEN_INLINE std::vector<CopyTime> OperationTimes::copies() const {
  std::vector<CopyTime> found;
  for (const CopyTime& time : copies_)
    if (time.calls > 0) found.push_back(time);
  return found;
}

namespace detail {
/// The elements of a ring that may be full.
template <class T>
std::vector<T> oldest_first(const std::vector<T>& ring, std::size_t added) {
  std::vector<T> ordered = ring;
  if (added > ring.size())
    std::rotate(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(added % OperationTimes::trace_limit),
                ordered.end());
  return ordered;
}
}  // namespace detail

REGIMEN_INLINE std::vector<OperationTimes::Event> OperationTimes::events() const {
  return detail::oldest_first(events_, operations_);
}
REGIMEN_INLINE std::vector<CollectiveTime> OperationTimes::collectives() const {
  return detail::oldest_first(collectives_, started_);
}
REGIMEN_INLINE std::vector<OperationTime> OperationTimes::rows() const {
  std::vector<OperationTime> sorted = rows_;
  std::sort(sorted.begin(), sorted.end(),
            [](const OperationTime& a, const OperationTime& b) { return a.seconds > b.seconds; });
  return sorted;
}
REGIMEN_INLINE std::string OperationTimes::table() const {
  std::string text = detail::printed("%zu operations, %.3f ms\n%10s %6s %7s %9s %9s %9s  operation\n", operations_,
                                     seconds_ * 1e3, "ms", "share", "calls", "fastest us", "Gflop/s", "GB/s");
  for (const OperationTime& row : rows()) {
    text += detail::printed("%10.3f %5.1f%% %7zu %10.2f %9.1f %9.1f  %-8s %s %s\n", row.seconds * 1e3,
                            seconds_ > 0 ? 100 * row.seconds / seconds_ : 0.0, row.calls, row.fastest * 1e6,
                            row.gigaflops(), row.gigabytes(), row.phase_name(), row.name, row.shape.text().c_str());
  }
  const std::vector<CopyTime> all = copies();
  if (!all.empty()) text += "copies between host and engine, besides\n";
  for (const CopyTime& time : all) {
    text += detail::printed("%10.3f %6s %7zu %10.2f %9s %9.1f  %-8s %zu bytes\n", time.seconds * 1e3, "", time.calls,
                            time.fastest * 1e6, "", time.gigabytes(), time.name(), time.bytes);
  }
  return text;
}
/// The format of Chrome's trace viewer: an event for each of the last operations, in microseconds since the first one.
REGIMEN_INLINE std::string OperationTimes::trace() const {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const std::vector<Event> latest = events();
  for (std::size_t i = 0; i < latest.size(); ++i) {
    const Event& event = latest[i];
    const OperationTime& row = rows_[event.row];
    const double calls = double(row.calls);
    text += detail::printed(
        "%s\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,"
        "\"args\":{\"shape\":\"%s\",\"flops\":%.0f,\"bytes\":%.0f}}",
        i == 0 ? "" : ",", row.name, row.phase_name(), (event.began - origin_) * 1e6, event.seconds * 1e6,
        row.shape.text().c_str(), row.flops / calls, row.bytes / calls);
  }
  text += "\n]}\n";
  return text;
}
REGIMEN_INLINE void OperationTimes::write_trace(const std::string& path) const { detail::write_text(path, trace()); }
REGIMEN_INLINE std::size_t OperationTimes::row_of(const char* name, op::Phase phase, const OperationShape& shape) {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].phase == phase && rows_[i].shape == shape && std::strcmp(rows_[i].name, name) == 0) return i;
  rows_.push_back({name, phase, shape});
  return rows_.size() - 1;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
