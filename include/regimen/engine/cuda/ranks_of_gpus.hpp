// regimen/engine/cuda/ranks_of_gpus.hpp — ranks with a GPU each, which a library connects.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/control.hpp>
#include <regimen/comm/host.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/graphs.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/engine.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <thread>

namespace regimen::cuda {

/// By the library that connects GPUs; the hosts of the ranks agree, wait and name who failed.
///
/// A collective that misses a rank never ends by itself, not in a graph either. So the host does not wait in the driver
/// for ever: it asks whether the event is over, and between whiles whether the library has seen an error, whether a
/// rank has left, ended or was killed, and whether the deadline has passed. Then it aborts the connections, so that the
/// device is free, and lets the hosts find out who is missing.
///
/// failure   PeerError with the rank that left or ended, within `patience` of it; with one that hangs, once the
///           deadline of the hosts has passed twice, here and in their own exchange
template <Runtime R>
class RanksOfGpus : public SingleRank<R> {
 public:
  RanksOfGpus(R& runtime, comm::Control* ranks) : SingleRank<R>(runtime, ranks), ranks_(ranks) {}

  /// Each rank of a host has a device of its own.
  static void take_device(comm::Control& ranks) {
    // Several GPUs in one process can deadlock where steps are captured (NCCL, "Using NCCL with CUDA Graphs").
    if constexpr (!requires { R::ranks_are_threads; }) comm::expect_processes(ranks, "Communicator<Nccl>");
    R::take_device(comm::place_on_host(ranks));
  }

  bool are_alone() const { return ranks_ == nullptr; }

  /// Connects the ranks of the transfer's teams. All ranks call it in the same order.
  void prepare(const engines::Transfer& transfer) {
    const comm::Teams teams = transfer.teams;
    if (found(teams) != nullptr) return;
    const std::size_t place = teams.place(ranks_->rank());
    const auto ids = comm::gather_small(*ranks_, place == 0 ? R::make_id() : typename R::Id{});
    connected_.push_back(
        {.teams = teams,
         .connection = runtime_.connect(ids[teams.member(ranks_->rank(), 0)], place, teams.members(ranks_->size()))});
    wait([&] { return is_ready(connected_.back().connection); });
  }
  void queue(comm::CollectiveKind kind, const engines::Transfer& transfer, std::byte* base, typename R::Stream stream) {
    TeamConnection* const to = found(transfer.teams);
    if (to == nullptr)
      throw Error("a collective of GPUs", "ranks that are connected", "none: an earlier error has ended them",
                  "make a new communicator and Trainer, and load what was saved last");
    std::byte* const all = base + transfer.all;
    const std::byte* const own = kind == comm::CollectiveKind::ReduceScatter
                                     ? all + transfer.teams.place(ranks_->rank()) * transfer.bytes
                                     : base + transfer.own;
    runtime_.collect(to->connection, {kind, transfer.element, transfer.bytes}, own, all, stream);
    wait([&] { return is_ready(to->connection); });
  }
  void synchronize(typename R::Event event) {
    if (!connected_.empty()) wait([&] { return runtime_.is_done(event); });
    else runtime_.synchronize(event);
    expect_no_error();
  }

  /// Ends what is queued.
  void abort() {
    for (TeamConnection& each : connected_) runtime_.abort(each.connection);
    connected_.clear();
  }
  /// Ends orderly if all that was queued there ends; while the hosts can still speak.
  void close(typename R::Stream stream) {
    if (connected_.empty()) return;
    try {
      const auto scope = runtime_.scope();
      const typename R::Event end = runtime_.make_event();
      runtime_.record(end, stream);
      synchronize(end);
      connected_.clear();
    } catch (...) { abort(); }
  }

 protected:
  using SingleRank<R>::runtime_;

 private:
  struct TeamConnection {
    comm::Teams teams{};
    typename R::Connection connection{};
  };
  using Clock = comm::detail::Clock;
  /// How long a rank may seem to be gone before that counts: it may have ended after it gave its part.
  static constexpr std::chrono::seconds patience{5};

  TeamConnection* found(comm::Teams teams) {
    for (TeamConnection& each : connected_)
      if (each.teams.size == teams.size && each.teams.stride == teams.stride) return &each;
    return nullptr;
  }
  bool is_ready(typename R::Connection& connection) {
    try {
      return runtime_.is_ready(connection);
    } catch (const Error& error) { fail(error.what()); }
  }
  void expect_no_error() {
    for (TeamConnection& each : connected_) (void)is_ready(each.connection);
  }

  template <class IsOver>
  void wait(const IsOver& is_over) {
    const Clock::time_point start = Clock::now(), until = comm::detail::end_of(ranks_->deadline(), start);
    Clock::time_point look = start + std::chrono::milliseconds(10), missed{};
    while (!is_over()) {
      const Clock::time_point now = Clock::now();
      if (now < look) {
        if (now - start < std::chrono::milliseconds(1)) std::this_thread::yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(20));
        continue;
      }
      look = now + std::chrono::milliseconds(10);
      expect_no_error();
      const std::string gone = who_is_gone();
      if (gone.empty()) missed = {};
      else if (missed == Clock::time_point{}) missed = now;
      else if (now - missed > patience) fail(gone + " ended, or was killed");
      if (now > until) fail("no end within " + comm::detail::words(ranks_->deadline()));
    }
  }
  std::string who_is_gone() {
    try {
      return ranks_->gone();
    } catch (...) {  // a rank has left, and says why
      abort();
      throw;
    }
  }
  /// Frees the device, then asks the hosts, which name who is missing.
  [[noreturn]] void fail(const std::string& found) {
    abort();
    comm::meet_after_failure(*ranks_);
    throw Error("the collectives of the GPUs", "all ranks to take part in the same ones", found,
                "see what the other ranks report; with NCCL_DEBUG=WARN the library says more");
  }

  comm::Control* ranks_;
  std::deque<TeamConnection> connected_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
