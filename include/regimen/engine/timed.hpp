// regimen/engine/timed.hpp — wraps an engine and measures each operation.
#pragma once

#include <regimen/core/now.hpp>
#include <regimen/core/weights.hpp>
#include <regimen/engine/engine.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// The shape of an operation's call: its extents, and for a product whether factors are transposed.
struct OperationShape {
  std::array<std::size_t, 4> extents{};
  std::size_t rank = 0;
  bool transpose_a = false, transpose_b = false, causal = false, add = false;

  bool operator==(const OperationShape&) const = default;

  template <class Operation>
  static OperationShape of(const Operation& operation) {
    OperationShape shape;
    if constexpr (requires { operation.m; }) {
      shape.extents = {operation.m, operation.n, operation.k};
      shape.rank = 3;
      shape.transpose_a = operation.transpose_a;
      shape.transpose_b = operation.transpose_b;
    } else if constexpr (requires { operation.shape.heads; }) {
      const auto& s = operation.shape;
      shape.extents = {s.batch, s.length, s.heads, s.width};
      shape.rank = 4;
      shape.causal = s.causal;
    } else if constexpr (requires { operation.shape.out_channels; }) {
      const auto& s = operation.shape;
      shape.extents = {s.positions(), s.out_channels, s.taps(), s.group_channels()};
      shape.rank = 4;
    } else {
      const auto extent = [&](std::size_t value) { shape.extents[shape.rank++] = value; };
      if constexpr (requires { operation.samples; }) extent(operation.samples);
      if constexpr (requires { operation.rows; }) extent(operation.rows);
      if constexpr (requires { operation.count; }) extent(operation.count);
      if constexpr (requires { operation.elements; }) extent(operation.elements);
      if constexpr (requires { operation.columns; }) extent(operation.columns);
    }
    if constexpr (requires { operation.add; }) shape.add = operation.add;
    return shape;
  }

  /// "768x128x512 NT": rows, columns, inner extent, and N or T for each factor.
  std::string text() const;
};

/// All calls of one operation with one shape in one phase. Seconds are measured; flops and
/// bytes are the operation's cost().
struct OperationTime {
  static constexpr const char* phases[] = {"forward", "backward", "update"};
  const char* name = "";
  op::Phase phase = op::Phase::forward;
  OperationShape shape{};
  std::size_t calls = 0;
  double seconds = 0, fastest = 0, flops = 0, bytes = 0;

  double gigaflops() const { return seconds > 0 ? flops / seconds * 1e-9 : 0; }  // Gflop/s
  double gigabytes() const { return seconds > 0 ? bytes / seconds * 1e-9 : 0; }  // GB/s
  const char* phase_name() const { return phases[static_cast<std::size_t>(phase)]; }
};

/// A collective as its rank's main thread sees it: started, and awaited later. Seconds of CLOCK_MONOTONIC.
///
///   path          of the unit
///   bytes         of one rank's slice
///   ticket        counts this rank's collectives from 1; 0: awaited at once, without a ticket
///   before        operations that had run at its start
///   before_wait   operations that had run when it was awaited; the difference overlapped the collective
///   ended         when the wait was over; 0: not awaited yet. Waiting for a later collective ends earlier ones, too
struct CollectiveTime {
  enum class Kind : unsigned char { gather, reduce, exchange };
  static constexpr const char* names[] = {"gather", "reduce", "exchange"};
  Kind kind = Kind::gather;
  op::Phase phase = op::Phase::forward;
  LayerPath path{};
  std::size_t ticket = 0, bytes = 0, before = 0, before_wait = 0;
  double started = 0, awaited = 0, ended = 0;

  const char* name() const { return names[static_cast<std::size_t>(kind)]; }
  std::size_t operations_beside() const { return before_wait - before; }
};

/// All copies of one kind between memory of the host and the engine's. Seconds are of the call, which on a device waits
/// for the copy.
///
///   upload, download   parameters, states, results; inputs, where there is no ring
///   feed               a slot of the ring for inputs
///   offload, fetch     under Checkpoint<Offload>: what blocks save, to the host and back
struct CopyTime {
  enum class Kind : unsigned char { upload, download, feed, offload, fetch };
  static constexpr const char* names[] = {"upload", "download", "feed", "offload", "fetch"};
  Kind kind = Kind::upload;
  std::size_t calls = 0, bytes = 0;
  double seconds = 0, fastest = 0;

  const char* name() const { return names[static_cast<std::size_t>(kind)]; }
  double gigabytes() const { return seconds > 0 ? double(bytes) / seconds * 1e-9 : 0; }  // GB/s
};

/// The measurements of a TimedEngine.
///
///   rows()         by operation, phase and shape; sorted by total time, longest first
///   operations()   the number of calls; seconds(): the sum of their times, without gaps between operations
///   table()        the rows as text
///   write_trace()  the latest calls (`trace_limit`) as a Chrome trace: open it in chrome://tracing or ui.perfetto.dev
///   collectives()  the latest collectives, in the order of their starts; waited(phase): seconds of waiting for them
///   copies()       copies between host and engine, by kind; those that occurred
///   events()       the latest calls in order: a row of unsorted_rows(), the start, the duration
///   clear()        forgets everything; call it after the first steps, which also set up memory and threads
class OperationTimes {
 public:
  static constexpr std::size_t trace_limit = 1u << 16;

  void add(const char* name, op::Phase phase, const OperationShape& shape, const Cost& cost, double began,
           double seconds);
  void clear();
  /// While one lives nothing is measured.
  struct Pause final {
    OperationTimes& times;
    explicit Pause(OperationTimes& of) : times(of) { times.pauses_ = true; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause() { times.pauses_ = false; }
  };

  /// `seconds`: the duration of the start, which counts as waiting, too.
  void start(CollectiveTime collective, double seconds);
  /// Ends all collectives up to this ticket: they run in the order of their starts.
  void await(std::size_t ticket, op::Phase phase, double began, double ended);

  void copy(CopyTime::Kind kind, std::size_t bytes, double seconds);
  std::vector<CopyTime> copies() const;

  struct Event {
    std::size_t row;
    double began, seconds;
  };
  std::vector<Event> events() const;
  const std::vector<OperationTime>& unsorted_rows() const { return rows_; }
  std::vector<CollectiveTime> collectives() const;
  double waited(op::Phase phase) const { return waited_[static_cast<std::size_t>(phase)]; }

  std::size_t operations() const { return operations_; }
  double seconds() const { return seconds_; }
  std::vector<OperationTime> rows() const;

  std::string table() const;

  /// The trace as JSON: complete events ("ph": "X"), microseconds since the first call.
  std::string trace() const;
  /// failure   Error: the system's reason
  void write_trace(const std::string& path) const;

 private:
  std::size_t row_of(const char* name, op::Phase phase, const OperationShape& shape);

  std::vector<OperationTime> rows_;
  std::vector<Event> events_;                // a ring once it is full
  std::vector<CollectiveTime> collectives_;  // likewise
  std::size_t operations_ = 0, started_ = 0, timed_ = 0;
  std::array<CopyTime, std::size(CopyTime::names)> copies_{};  // by kind
  std::array<double, 3> waited_{};
  double seconds_ = 0, origin_ = 0;
  bool pauses_ = false;
};

/// Runs Engine with the same bits, and measures every operation, every wait for other ranks and every copy between host
/// and engine. For engines whose calls return when they are done.
///
/// cost     two clock readings and a search in the table per operation, about 0.1 us; a trace event of 24 bytes
template <class Engine>
class TimedEngine : public Engine {
 public:
  using Engine::Engine;
  OperationTimes times{};

  template <class Operation>
  void run(const Operation& operation, std::size_t scratch = View<char>::absent) {
    const double began = detail::now();
    Engine::run(operation, scratch);
    const double ended = detail::now();
    times.add(Operation::name, this->phase, OperationShape::of(operation), operation.cost(), began, ended - began);
  }

  /// Measures nothing: what is prepared runs later.
  template <class Body>
  void prepare(Body&& body)
    requires requires(Engine& engine) { engine.prepare(engines::NoOperations{}); }
  {
    const OperationTimes::Pause pause(times);
    Engine::prepare(body);
  }

  std::size_t all_gather(const engines::Transfer& transfer) {
    const double began = detail::now();
    const std::size_t ticket = Engine::all_gather(transfer);
    if (transfer.small) small_ = ticket;
    return started(transfer.small ? CollectiveTime::Kind::exchange : CollectiveTime::Kind::gather, transfer, ticket,
                   began);
  }
  std::size_t reduce_scatter(const engines::Transfer& transfer) {
    const double began = detail::now();
    return started(CollectiveTime::Kind::reduce, transfer, Engine::reduce_scatter(transfer), began);
  }
  void await(std::size_t ticket) {
    const double began = detail::now();
    Engine::await(ticket);
    times.await(ticket == small_ ? 0 : ticket, this->phase, began, detail::now());
  }

  typename Engine::Fence upload(std::size_t at, std::span<const std::byte> from) {
    return copied(CopyTime::Kind::upload, from.size(), [&] { return Engine::upload(at, from); });
  }
  typename Engine::Fence download(std::size_t at, std::span<std::byte> to) {
    return copied(CopyTime::Kind::download, to.size(), [&] { return Engine::download(at, to); });
  }
  template <class Write>
  void feed(std::size_t slot, std::size_t at, std::size_t bytes, const Write& write) {
    copied(CopyTime::Kind::feed, bytes, [&] { return Engine::feed(slot, at, bytes, write), 0; });
  }
  typename Engine::Fence feed_pinned(std::size_t slot, std::size_t at, std::span<const std::byte> from)
    requires engines::PinsInputs<Engine>
  {
    return copied(CopyTime::Kind::feed, from.size(), [&] { return Engine::feed_pinned(slot, at, from); });
  }
  std::size_t offload(const engines::HostCopy& copy)
    requires Engine::Traits::offloads
  {
    return copied(CopyTime::Kind::offload, copy.bytes, [&] { return Engine::offload(copy); });
  }
  std::size_t fetch(const engines::HostCopy& copy)
    requires Engine::Traits::offloads
  {
    return copied(CopyTime::Kind::fetch, copy.bytes, [&] { return Engine::fetch(copy); });
  }

 private:
  /// A copy of nothing is a wait for operations.
  auto copied(CopyTime::Kind kind, std::size_t bytes, const auto& copy) {
    const double began = detail::now();
    auto result = copy();
    if (bytes > 0) times.copy(kind, bytes, detail::now() - began);
    return result;
  }
  std::size_t started(CollectiveTime::Kind kind, const engines::Transfer& transfer, std::size_t ticket, double began) {
    const double seconds = detail::now() - began;
    CollectiveTime collective;  // field by field: nvcc's own output for the braces does not compile
    collective.kind = kind;
    collective.phase = this->phase;
    collective.path = transfer.path;
    collective.ticket = transfer.small ? 0 : ticket;
    collective.bytes = transfer.small ? 0 : transfer.bytes;
    collective.started = began;
    times.start(collective, seconds);
    return ticket;
  }

  std::size_t small_ = no_ticket;  // the last small collective, recorded apart from those of tensors
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/engine/timed.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
