// regimen/engine/rank_trace.ipp — a trace of all ranks, written.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/path_text.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/engine/rank_trace.hpp>

#include <chrono>
#include <vector>

namespace regimen {

namespace detail {
/// "gather 2 (repeat), iteration 3"
inline std::string name_in_trace(const CollectiveTime& one) {
  return std::string(one.name()) + " " + (one.path.is_outside() ? one.path.name : one.path.text());
}
inline double seconds_of_trace(comm::Span::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
}  // namespace detail

REGIMEN_INLINE void RankTrace::add(std::size_t rank, const OperationTimes& times) {
  add_operations(rank, times);
  double before = 0;
  for (const CollectiveTime& one : times.collectives()) {
    if (one.ended == 0) continue;
    const double began = one.started > before ? one.started : before;
    before = one.ended > began ? one.ended : began;
    complete(rank, sending, detail::name_in_trace(one), "collective", began, before - began,
             "\"bytes\":" + std::to_string(one.bytes));
  }
}
REGIMEN_INLINE void RankTrace::add(std::size_t rank, const OperationTimes& times, std::span<const comm::Span> spans) {
  add_operations(rank, times);
  std::vector<CollectiveTime> collectives = times.collectives();
  const double from = collectives.empty() ? 0 : collectives.front().started;
  std::erase_if(collectives, [](const CollectiveTime& each) { return each.ticket == 0; });
  auto one = collectives.cbegin();
  for (const comm::Span& span : spans) {
    const double began = detail::seconds_of_trace(span.begin);
    if (began < from) continue;                                                // before the recorded events
    while (one != collectives.cend() && one->ticket < span.number + 1) ++one;  // tickets count from 1
    const bool known = one != collectives.cend() && one->ticket == span.number + 1;
    complete(rank, sending, known ? detail::name_in_trace(*one) : comm::name_of_collective(span.kind), "collective",
             began, detail::seconds_of_trace(span.end) - began, "\"bytes sent\":" + std::to_string(span.bytes));
  }
}
REGIMEN_INLINE std::string RankTrace::text() const {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + events_ + "\n]}\n";
}
REGIMEN_INLINE void RankTrace::write(const std::string& path) const { detail::write_text(path, text()); }
REGIMEN_INLINE void RankTrace::add_operations(std::size_t rank, const OperationTimes& times) {
  name(rank, 0, "process_name", "rank " + std::to_string(rank));
  name(rank, computing, "thread_name", "operations");
  name(rank, sending, "thread_name", "collectives");
  for (const OperationTimes::Event& event : times.events()) {
    const OperationTime& row = times.unsorted_rows()[event.row];
    complete(rank, computing, row.name, row.phase_name(), event.began, event.seconds,
             "\"shape\":\"" + row.shape.text() + "\"");
  }
  double waited = 0;
  for (const CollectiveTime& one : times.collectives()) {
    if (one.ended == 0 || one.awaited == waited) continue;  // one wait may end several collectives
    waited = one.awaited;
    complete(rank, computing, "wait for " + detail::name_in_trace(one), "wait", one.awaited, one.ended - one.awaited,
             "\"operations beside it\":" + std::to_string(one.operations_beside()));
  }
}
REGIMEN_INLINE void RankTrace::complete(std::size_t rank, int lane, const std::string& what, const char* category,
                                        double began, double lasted, const std::string& arguments) {
  const std::string times = detail::printed("\"ts\":%.3f,\"dur\":%.3f", began * 1e6, lasted * 1e6);
  add("{\"name\":\"" + what + "\",\"cat\":\"" + category + "\",\"ph\":\"X\",\"pid\":" + std::to_string(rank) +
      ",\"tid\":" + std::to_string(lane) + "," + times + ",\"args\":{" + arguments + "}}");
}
REGIMEN_INLINE void RankTrace::name(std::size_t rank, int lane, const char* kind, const std::string& value) {
  add(std::string("{\"name\":\"") + kind + "\",\"ph\":\"M\",\"pid\":" + std::to_string(rank) +
      ",\"tid\":" + std::to_string(lane) + ",\"args\":{\"name\":\"" + value + "\"}}");
}
REGIMEN_INLINE void RankTrace::add(const std::string& event) { events_ += (events_.empty() ? "\n" : ",\n") + event; }

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
