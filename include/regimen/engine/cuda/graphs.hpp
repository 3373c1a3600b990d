// regimen/engine/cuda/graphs.hpp — the graphs of an engine, by what they record, a bounded number of them; and what a
// rank does by itself: it captures and launches its own.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/ranges.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/engine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace regimen::cuda {

/// Bytes of a device that are free, and that are needed.
struct Room {
  std::size_t unused = 0, needed = 0;
};

/// What a single rank does, and what ranks do each for itself unless they say otherwise: it captures and launches
/// graphs of its own.
template <Runtime R>
class SingleRank {
 public:
  using Graph = typename R::Graph;
  using Stream = typename R::Stream;
  using Event = typename R::Event;
  SingleRank(R& runtime, comm::Control*) : runtime_(runtime) {}
  /// The memory of the device that this rank uses.
  static Room room(Room own, comm::Control*) { return own; }
  bool are_alone() const { return true; }
  /// What collectives of these ranks need.
  void prepare(const engines::Transfer&) {}
  void queue(comm::CollectiveKind, const engines::Transfer&, std::byte*, Stream) {}
  /// The host waits, and throws what the ranks, or earlier operations, have failed with.
  void synchronize(Event event) { runtime_.synchronize(event); }
  void abort() {}
  void close(Stream) {}

  void begin_capture(Stream stream) { runtime_.begin_capture(stream); }
  Graph end_capture(Stream stream) { return runtime_.end_capture(stream); }
  /// After an error, which says why; also of one that begins or ends a capture.
  void drop_capture(Stream stream) {
    try {
      (void)runtime_.end_capture(stream);
    } catch (const Error&) {}
  }
  void launch_graph(const Graph& graph, Stream stream) { runtime_.launch(graph, stream); }
  void destroy_graph(const Graph& graph) { runtime_.destroy(graph); }

 protected:
  R& runtime_;
};

/// Pieces of steps: run by calls once, then captured, then launched as graphs. A graph takes memory of the device
/// outside the plan, and a loop by hand may give `step` any number of samples, so the piece that was not used for
/// longest is forgotten. The host waits by `Transport`, and graphs are captured as its ranks do it.
template <Runtime R, class Transport>
class Graphs final {
 public:
  /// A run by fit has few numbers of samples, each with five pieces at most, evaluations, and a launch of several
  /// steps: all of them stay.
  static constexpr std::size_t most = 32;

  Graphs(R& runtime, Ranges<R>& ranges, typename R::Stream stream, Transport& transport)
      : runtime_(runtime), ranges_(ranges), stream_(stream), transport_(transport), done_(runtime.make_event()) {}
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  template <class Body>
  void replay(const engines::Recording& key, const Body& body) {
    Piece& piece = piece_of(key);
    piece.used = ++uses_;
    if (!std::exchange(piece.has_run, true)) return body();
    if (!piece.is_captured) capture(piece, body);
    transport_.launch_graph(piece.graph, stream_);
    operations_ += piece.operations;
  }
  void clear() {
    for (const Piece& piece : pieces_) destroy(piece);
    pieces_.clear();
  }

  /// An operation is queued, or captured.
  void count() { ++(captured_ != nullptr ? captured_->operations : operations_); }
  /// Operations that were queued, by calls or by graphs.
  std::size_t operations() const { return operations_; }

 private:
  struct Piece {
    engines::Recording key{};
    bool has_run = false, is_captured = false;
    typename R::Graph graph{};
    std::size_t operations = 0;
    std::uint64_t used = 0;
  };

  Piece& piece_of(const engines::Recording& key) {
    for (Piece& piece : pieces_)
      if (piece.key == key) return piece;
    if (pieces_.size() == most) {
      const auto oldest = std::min_element(pieces_.begin(), pieces_.end(),
                                           [](const Piece& a, const Piece& b) { return a.used < b.used; });
      destroy(*oldest);
      pieces_.erase(oldest);
    }
    pieces_.emplace_back();
    pieces_.back().key = key;
    return pieces_.back();
  }
  /// This is so seldom that the host may wait until no launch of the graph runs.
  void destroy(const Piece& piece) {
    if (!piece.is_captured) return;
    runtime_.record(done_, stream_);
    transport_.synchronize(done_);
    transport_.destroy_graph(piece.graph);
  }

  template <class Body>
  void capture(Piece& piece, const Body& body) {
    ranges_.close();
    piece.operations = 0;
    try {
      transport_.begin_capture(stream_);
      captured_ = &piece;
      body();
      captured_ = nullptr;
      ranges_.close();
      piece.graph = transport_.end_capture(stream_);
    } catch (...) {
      captured_ = nullptr;
      ranges_.close();
      transport_.drop_capture(stream_);
      throw;
    }
    piece.is_captured = true;
  }

  R& runtime_;
  Ranges<R>& ranges_;
  typename R::Stream stream_;
  Transport& transport_;
  typename R::Event done_;
  std::vector<Piece> pieces_;
  Piece* captured_ = nullptr;
  std::size_t operations_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
