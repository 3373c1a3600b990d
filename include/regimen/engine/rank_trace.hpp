// regimen/engine/rank_trace.hpp — one trace of all ranks: operations, waits, and the collectives that ran meanwhile.
#pragma once

#include <regimen/comm/tracing.hpp>
#include <regimen/engine/timed.hpp>

#include <cstddef>
#include <span>
#include <string>

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
  void add(std::size_t rank, const OperationTimes& times);
  void add(std::size_t rank, const OperationTimes& times, std::span<const comm::Span> spans);

  std::string text() const;
  /// failure   Error: the system's reason
  void write(const std::string& path) const;

 private:
  static constexpr int computing = 1, sending = 2;

  void add_operations(std::size_t rank, const OperationTimes& times);
  void complete(std::size_t rank, int lane, const std::string& what, const char* category, double began, double lasted,
                const std::string& arguments);
  void name(std::size_t rank, int lane, const char* kind, const std::string& value);
  void add(const std::string& event);

  std::string events_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/engine/rank_trace.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
