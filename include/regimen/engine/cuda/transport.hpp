// regimen/engine/cuda/transport.hpp — the collectives of ranks on devices: on a stream of their own.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/comm/host.hpp>
#include <regimen/engine/cuda/graphs.hpp>
#include <regimen/engine/cuda/ranks_of_gpus.hpp>
#include <regimen/engine/cuda/ranks_of_threads.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/communicator.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace regimen::cuda {

/// The ranks that a communicator's type connects on devices.
template <Runtime R, class Ranks>
using RanksOfDevice =
    std::conditional_t<connects_gpus<Ranks>, RanksOfGpus<R>,
                       std::conditional_t<std::is_same_v<Ranks, Threads>, RanksOfThreads<R>, SingleRank<R>>>;

/// The order of collectives and operations. A collective begins after the operations that were queued before it, and
/// ends before those that are queued after its await; meanwhile both run.
template <Runtime R, class Communicator>
class Transport final : public RanksOfDevice<R, typename Communicator::ranks> {
  using By = RanksOfDevice<R, typename Communicator::ranks>;

 public:
  Transport(R& runtime, typename R::Stream compute, comm::Control* ranks) : By(runtime, ranks), compute_(compute) {
    if (this->are_alone()) return;
    waits_at_start_ = ranks->waits_at_start();
    stream_ = runtime_.make_stream();
    for (std::size_t i = 0; i < most_tickets; ++i) sent_.push_back(runtime_.make_event());
    before_ = runtime_.make_event();
  }
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport() { close(); }

  /// Returns a ticket; they count from 1.
  std::size_t send(comm::CollectiveKind kind, const engines::Transfer& transfer, std::byte* base) {
    const std::size_t ticket = ++tickets_;
    runtime_.record(before_, compute_);
    runtime_.wait(stream_, before_);
    this->queue(kind, transfer, base, stream_);
    runtime_.record(sent_.at(ticket % most_tickets), stream_);
    if (waits_at_start_) await(ticket);
    return ticket;
  }
  /// What is queued from now on comes after that collective.
  void await(std::size_t ticket) { runtime_.wait(compute_, sent_.at(ticket % most_tickets)); }
  /// The host waits until that collective is over.
  void finish(std::size_t ticket) { this->synchronize(sent_.at(ticket % most_tickets)); }
  void close() { By::close(stream_); }

 private:
  /// Collectives that may be on their way: the walk has two gathers and two reductions at most, and KeepSegments
  /// gathers a segment at once. A ticket that comes so many later uses the event again; who awaits the older one then
  /// waits for the younger, too, which comes after it on the same stream.
  static constexpr std::size_t most_tickets = 1024;

  using By::runtime_;
  typename R::Stream compute_, stream_{};
  std::vector<typename R::Event> sent_;  // by tickets
  typename R::Event before_{};
  std::size_t tickets_ = 0;
  bool waits_at_start_ = false;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
