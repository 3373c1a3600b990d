// regimen/engine/rank_trace.hpp — one trace of all ranks: operations, waits, and the collectives that ran meanwhile.
#pragma once

#include <regimen/comm/tracing.hpp>
#include <regimen/core/atomic_file.hpp>
#include <regimen/core/path_text.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/engine/timed.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// A Chrome trace (chrome://tracing, ui.perfetto.dev) of ranks on one machine, which share its clock. Each rank is a
/// process with one lane for operations and waits, and one for collectives.
///
///   comm::Tracing traced(communicator);                        // before the Trainer; used by it alone
///   Trainer<..., Debug<Profile>> trainer(traced);
///   ...
///   RankTrace trace;
///   trace.add(trainer.rank(), trainer.profile(), traced.spans());
///   trace.write("trace.json");
///
/// Collectives of devices, which the communicator does not see, have no spans: each is drawn from its start, or the end
/// of the one before, as they run in order, to the end of the rank's wait for it.
class RankTrace {
 public:
  void add(std::size_t rank, const OperationTimes& times) {
    add_operations(rank, times);
    double before = 0;
    for (const CollectiveTime& one : times.collectives()) {
      if (one.ended == 0) continue;
      const double began = one.started > before ? one.started : before;
      before = one.ended > began ? one.ended : began;
      complete(rank, sending, std::string(one.name()) + " " + place(one.path), "collective", began, before - began,
               "\"bytes\":" + std::to_string(one.bytes));
    }
  }
  void add(std::size_t rank, const OperationTimes& times, std::span<const comm::Span> spans) {
    add_operations(rank, times);
    std::vector<CollectiveTime> collectives = times.collectives();
    const double from = collectives.empty() ? 0 : collectives.front().started;
    std::erase_if(collectives, [](const CollectiveTime& each) { return each.ticket == 0; });
    auto one = collectives.cbegin();
    for (const comm::Span& span : spans) {
      const double began = seconds(span.begin);
      if (began < from) continue;                                                // before the recorded events
      while (one != collectives.cend() && one->ticket < span.number + 1) ++one;  // tickets count from 1
      const bool known = one != collectives.cend() && one->ticket == span.number + 1;
      complete(rank, sending,
               known ? std::string(one->name()) + " " + place(one->path) : comm::name_of_collective(span.kind),
               "collective", began, seconds(span.end) - began, "\"bytes sent\":" + std::to_string(span.bytes));
    }
  }

  std::string text() const { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + events_ + "\n]}\n"; }
  /// failure   Error: the system's reason
  void write(const std::string& path) const {
    const std::string whole = text();
    detail::AtomicFile file(path);
    file.write(std::as_bytes(std::span(whole)));
    file.commit();
  }

 private:
  static constexpr int computing = 1, sending = 2;

  void add_operations(std::size_t rank, const OperationTimes& times) {
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
      complete(rank, computing, std::string("wait for ") + one.name() + " " + place(one.path), "wait", one.awaited,
               one.ended - one.awaited, "\"operations beside it\":" + std::to_string(one.operations_beside()));
    }
  }

  /// "2 (repeat), iteration 3"
  static std::string place(const LayerPath& path) { return path.is_outside() ? path.name : path.text(); }
  static double seconds(comm::Span::Time time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  }

  void complete(std::size_t rank, int lane, const std::string& what, const char* category, double began, double lasted,
                const std::string& arguments) {
    const std::string times = detail::printed("\"ts\":%.3f,\"dur\":%.3f", began * 1e6, lasted * 1e6);
    add("{\"name\":\"" + what + "\",\"cat\":\"" + category + "\",\"ph\":\"X\",\"pid\":" + std::to_string(rank) +
        ",\"tid\":" + std::to_string(lane) + "," + times + ",\"args\":{" + arguments + "}}");
  }
  void name(std::size_t rank, int lane, const char* kind, const std::string& value) {
    add(std::string("{\"name\":\"") + kind + "\",\"ph\":\"M\",\"pid\":" + std::to_string(rank) +
        ",\"tid\":" + std::to_string(lane) + ",\"args\":{\"name\":\"" + value + "\"}}");
  }
  void add(const std::string& event) { events_ += (events_.empty() ? "\n" : ",\n") + event; }

  std::string events_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
