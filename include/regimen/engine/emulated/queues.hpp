// regimen/engine/emulated/queues.hpp — streams, events and graphs of an emulated device, and the memory that their work
// uses.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/emulated/memory.hpp>
#include <regimen/engine/emulated/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace regimen::emulated {

namespace detail {

/// What the runtimes of one device share; one thread at a time uses it.
struct Device {
  Device(std::uint64_t seed, std::size_t bytes) : schedule(seed), memory(bytes, true) {}

  std::recursive_mutex mutex;
  Schedule schedule;
  Memory memory;
  bool is_lost = false;
  std::deque<Queue> streams;
  std::deque<EventRecord> events;
  std::deque<Recording> graphs;
  std::size_t capturing = 0, questions = 0;

  /// Numbers from here on are of devices that several runtimes share; any other is of one runtime alone.
  static constexpr std::size_t first_shared = 1024;
  static std::shared_ptr<Device> of(std::size_t number, std::uint64_t seed, std::size_t bytes) {
    if (number < first_shared) return std::make_shared<Device>(seed, bytes);
    static std::mutex mutex;
    static std::map<std::size_t, std::weak_ptr<Device>> devices;
    const std::lock_guard lock(mutex);
    std::erase_if(devices, [](const auto& each) { return each.second.expired(); });
    std::shared_ptr<Device> device = devices[number].lock();
    if (device == nullptr) devices[number] = device = std::make_shared<Device>(seed, bytes);
    return device;
  }
};

}  // namespace detail

/// The order of an emulated device: work runs later, whenever streams and events allow it, and only while it runs the
/// device's memory is accessible. What CUDA forbids, also during a capture, is an Error that names its code.
///
/// thread safety   runtimes that share a device may be used by a thread each
class Queues {
  static constexpr std::size_t none = detail::no_graph;
  using Queue = detail::Queue;
  using EventRecord = detail::EventRecord;
  using Recording = detail::Recording;

 public:
  template <class>
  struct Handle {
    std::size_t index = ~std::size_t{0};
  };
  using Stream = Handle<Queue>;
  using Event = Handle<EventRecord>;
  using Graph = Handle<Recording>;

  /// The device of the calling thread: the number of one that is made, and of which streams and events are made.
  static inline thread_local std::size_t current = 0;

  Queues(std::uint64_t seed, std::size_t memory) : shared_(detail::Device::of(current, seed, memory)) {}
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // ---- queues and their order

  Stream make_stream() {
    const auto lock = alone();
    expect_current("cudaStreamCreateWithFlags");
    streams_.emplace_back();
    return {streams_.size() - 1};
  }
  Event make_event() {
    own_events_.push_back(make_lasting_event().index);
    return {own_events_.back()};
  }
  Event make_lasting_event() {
    const auto lock = alone();
    expect_current("cudaEventCreateWithFlags");
    events_.emplace_back();
    return {events_.size() - 1};
  }
  /// The event stands for all work that the stream has so far: a piece of work of its own, which does nothing. During a
  /// capture it belongs to the graph.
  void record(Event event, Stream stream) {
    const auto lock = alone();
    enqueue(stream, {});
    const Queue& queue = queue_of(stream);
    events_.at(event.index) = {
        .graph = queue.graph, .task = queue.graph == none ? queue.last : queue.recorded.back(), .was_recorded = true};
  }
  /// What the stream gets from now on comes after the event's work. A stream that waits for an event of a capture joins
  /// it.
  void wait(Stream stream, Event event) {
    const auto lock = alone();
    const EventRecord& recorded = events_.at(event.index);
    Queue& queue = queue_of(stream);
    if (recorded.is_destroyed)
      refuse("cudaStreamWaitEvent (cudaErrorInvalidResourceHandle)", "an event", "one whose runtime has ended");
    if (!recorded.was_recorded)
      refuse("a wait for an event", "an event that was recorded", "none, so that nothing waits");
    if (recorded.graph == none) {
      if (queue.graph != none)
        invalidate("cudaErrorStreamCaptureIsolation", "events of the capture", "one from outside");
      queue.waits.push_back(recorded.task);
      return;
    }
    if (graphs_.at(recorded.graph).is_finished)
      refuse("cudaErrorCapturedEvent", "an event", "one that was recorded in a capture that ended");
    if (queue.graph == none) queue.graph = recorded.graph;  // this stream joins the capture
    else if (queue.graph != recorded.graph) invalidate("cudaErrorStreamCaptureMerge", "one capture", "two");
    queue.recorded.push_back(recorded.task);
  }
  /// Runs work until that of the event is done. An event that was never recorded is done, as with CUDA.
  void synchronize(Event event) {
    const auto lock = alone();
    const EventRecord& recorded = asked_for(event, "cudaEventSynchronize");
    if (recorded.was_recorded && !schedule_.is_done(recorded.task))
      carry_out([&] { schedule_.run_until(recorded.task); });
  }
  bool is_done(Event event) {
    const auto lock = alone();
    const EventRecord& recorded = asked_for(event, "cudaEventQuery");
    if (!recorded.was_recorded || schedule_.is_done(recorded.task)) return true;
    if (++questions_ % most_questions == 0) carry_out([&] { schedule_.run_until(recorded.task); });
    else perhaps_run();
    return schedule_.is_done(recorded.task);
  }

  // ---- graphs

  void begin_capture(Stream stream) {
    const auto lock = alone();
    Queue& queue = queue_of(stream);
    if (queue.graph != none) refuse("cudaErrorIllegalState", "a stream that is not captured", "one that is");
    graphs_.push_back({.origin = stream.index});
    queue.graph = graphs_.size() - 1;
    ++capturing_;
  }
  /// Only on the stream where the capture began, and only if it has waited for all work of the others.
  Graph end_capture(Stream stream) {
    const auto lock = alone();
    const Queue& origin = queue_of(stream);
    if (origin.graph == none) refuse("cudaErrorIllegalState", "a stream that is captured", "one that is not");
    const std::size_t index = origin.graph;
    Recording& recording = graphs_.at(index);
    if (recording.origin != stream.index) refuse("the end of a capture", "the stream on which it began", "another");
    const std::size_t unjoined = recording.tasks.size() - recording.tasks_until(origin.recorded);
    for (Queue& queue : streams_) {
      if (queue.graph != index) continue;
      queue.graph = none;
      queue.recorded.clear();
    }
    recording.is_finished = true;
    --capturing_;
    if (recording.is_invalid)
      refuse("the end of a capture (cudaErrorStreamCaptureInvalidated)", "a capture without errors",
             "one with an error before");
    if (unjoined > 0)
      refuse("the end of a capture (cudaErrorStreamCaptureUnjoined)", "a wait for all streams of the capture",
             std::to_string(unjoined) + " pieces of work that nothing waits for");
    return {index};
  }
  /// Adds the graph's work again, each piece after those that it came after in the capture; those that came after none
  /// follow one piece, which waits for the stream, and one at the end stands for all of them.
  void launch(Graph graph, Stream stream) {
    const auto lock = alone();
    Queue& queue = queue_of(stream);
    if (queue.graph != none) refuse("a launch of a graph", "a stream that is not captured", "one that is");
    check_lost();
    Recording& recording = graphs_.at(graph.index);
    if (recording.is_destroyed)
      refuse("a launch of a graph (cudaErrorInvalidValue)", "a graph", "one that was destroyed");
    std::vector<TaskId> before = take_waits(queue);
    if (recording.last != 0) before.push_back(recording.last);  // launches of one graph follow each other
    const TaskId begin = schedule_.add({.after = std::move(before), .queue = stream.index});
    std::vector<TaskId> ids;
    ids.reserve(recording.tasks.size() + 1);
    for (const Task& task : recording.tasks) {
      Task again = task;
      for (TaskId& id : again.after) id = ids[id];
      if (again.after.empty()) again.after.push_back(begin);
      ids.push_back(schedule_.add(std::move(again)));
    }
    ids.push_back(begin);
    queue.last = recording.last = schedule_.add({.after = std::move(ids), .queue = stream.index});
    perhaps_run();
  }

  void destroy(Graph graph) {
    const auto lock = alone_outside_captures("cudaGraphExecDestroy");
    check_lost();
    Recording& recording = graphs_.at(graph.index);
    if (recording.is_destroyed) refuse("cudaGraphExecDestroy", "a graph", "one that was destroyed");
    if (recording.last != 0 && !schedule_.is_done(recording.last))
      refuse("cudaGraphExecDestroy", "a graph that runs no more", "one that may be running");
    recording.is_destroyed = true;
    recording.tasks.clear();
  }

  /// Time passes in which the host calls nothing.
  void work_on() {
    const auto lock = alone();
    finish_all();
  }

  // ---- the calling thread

  /// While it lives, this device is the calling thread's.
  class [[nodiscard]] Scope final {
   public:
    explicit Scope(std::size_t device) : before_(std::exchange(current, device)) {}
    Scope(const Scope&) = delete;
    ~Scope() { current = before_; }

   private:
    std::size_t before_;
  };
  Scope scope() const { return Scope(number_); }
  std::size_t device() const { return number_; }
  /// For tests.
  std::size_t work_in(Graph graph) const {
    const auto lock = alone();
    return graphs_.at(graph.index).tasks.size();
  }

 protected:
  ~Queues() = default;

  /// The number of the graph that captures a stream, from 1; 0: none does.
  std::size_t capture_of(Stream stream) {
    const auto lock = alone();
    const Queue& queue = queue_of(stream);
    return queue.graph == none ? 0 : queue.graph + 1;
  }

  bool is_captured(Event event) const {
    const auto lock = alone();
    return events_.at(event.index).graph != none;
  }

  [[noreturn]] static void refuse(const char* where, const char* expected, const std::string& found) {
    throw Error(where, expected, found);
  }
  [[noreturn]] void invalidate(const char* where, const char* expected, const char* found) {
    for (Recording& recording : graphs_)
      if (!recording.is_finished) recording.is_invalid = true;
    refuse(where, expected, found);
  }
  void refuse_in_capture(const char* call) {
    if (capturing_ > 0) invalidate("cudaErrorStreamCaptureUnsupported", "what a graph can hold", call);
  }
  void check_lost() const {
    if (lost_) throw Error("the emulated device", "a device", "one that an earlier error has lost");
  }
  Queue& queue_of(Stream stream) {
    if (stream.index >= streams_.size()) refuse("cudaErrorInvalidResourceHandle", "a stream", "none");
    return streams_[stream.index];
  }
  /// CUDA's streams and events are of one device, for which the calling thread has to be.
  void expect_current(const char* call) const {
    if (current != number_)
      refuse((std::string(call) + " (cudaErrorInvalidResourceHandle)").c_str(), "the device of the calling thread",
             "number " + std::to_string(number_) + ", where the thread's is " + std::to_string(current));
  }
  static std::vector<TaskId> take_waits(Queue& queue) {
    std::vector<TaskId> after = std::exchange(queue.waits, {});
    if (queue.last != 0) after.push_back(queue.last);
    return after;
  }
  void enqueue(Stream stream, std::function<void()> work) {
    const auto lock = alone();
    expect_current("work for a stream");
    Queue& queue = queue_of(stream);
    if (queue.graph != none) {
      std::vector<Task>& tasks = graphs_.at(queue.graph).tasks;
      tasks.push_back({std::move(work), std::exchange(queue.recorded, {}), stream.index});
      queue.recorded.push_back(tasks.size() - 1);
      return;
    }
    check_lost();
    queue.last = schedule_.add({std::move(work), take_waits(queue), stream.index});
    perhaps_run();
  }
  void perhaps_run() {
    if (schedule_.wants_to_run()) carry_out([&] { schedule_.run_some(); });
  }
  void finish_all() {
    carry_out([&] { schedule_.run_all(); });
  }
  /// The only place where work runs, and the device's memory is accessible.
  template <class Run>
  void carry_out(const Run& run) {
    check_lost();
    device_.open();
    try {
      run();
      device_.check_tails();
    } catch (...) {
      lost_ = true;
      schedule_.drop_all();
      device_.close();
      throw;
    }
    device_.close();
  }

  /// While it lives, no other thread uses the device.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> alone() const { return std::unique_lock(shared_->mutex); }
  /// As alone(), for a call that a graph cannot hold.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> alone_outside_captures(const char* call) {
    auto lock = alone();
    refuse_in_capture(call);
    return lock;
  }
  /// No runtime waits for this one's events from now on.
  void destroy_events() {
    for (const std::size_t event : own_events_) events_.at(event).is_destroyed = true;
  }
  /// Whether other runtimes may use the device.
  bool is_shared() const { return number_ >= detail::Device::first_shared; }

  const std::shared_ptr<detail::Device> shared_;
  Schedule& schedule_ = shared_->schedule;
  Memory& device_ = shared_->memory;
  bool& lost_ = shared_->is_lost;

 private:
  /// An event that the host asks for.
  const EventRecord& asked_for(Event event, const char* call) {
    refuse_in_capture(call);
    check_lost();
    const EventRecord& recorded = events_.at(event.index);
    if (recorded.graph != none)
      refuse("cudaErrorCapturedEvent", "an event for the host", "one that only a graph records");
    return recorded;
  }

  /// The host asks so often before it seems to it that time has passed, also to a lazy device.
  static constexpr std::size_t most_questions = 16;

  std::size_t number_ = current;
  std::vector<std::size_t> own_events_;  // without the lasting ones
  std::deque<Queue>& streams_ = shared_->streams;
  std::deque<EventRecord>& events_ = shared_->events;
  std::deque<Recording>& graphs_ = shared_->graphs;
  std::size_t &capturing_ = shared_->capturing, &questions_ = shared_->questions;
};

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
