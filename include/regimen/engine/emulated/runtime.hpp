// regimen/engine/emulated/runtime.hpp — a device on the host: late, unfair and strict.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/emulated/attention.hpp>
#include <regimen/engine/emulated/block.hpp>
#include <regimen/engine/emulated/host_pointers.hpp>
#include <regimen/engine/emulated/memory.hpp>
#include <regimen/engine/emulated/options.hpp>
#include <regimen/engine/emulated/product.hpp>
#include <regimen/engine/emulated/schedule.hpp>
#include <regimen/kernel/block.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::emulated {

/// A cuda::Runtime without a GPU. Device memory is inaccessible to the host, but to queued work while it runs. Work
/// runs later, in any order that streams and events allow. What CUDA forbids, also during a capture, is an Error that
/// names its code. An Error of queued work loses the device: every later call throws.
///
/// thread safety   none: one thread at a time
class Runtime {
 public:
  struct Stream {
    std::size_t index = ~std::size_t{0};
  };
  struct Event {
    std::size_t index = ~std::size_t{0};
  };
  struct Graph {
    std::size_t index = ~std::size_t{0};
  };
  using Product = emulated::Product;
  using Attention = emulated::Attention;

  static constexpr bool has_fused_attention = true;
  /// Bytes that a product's workspace has; the library writes junk there.
  static constexpr std::size_t workspace = 1024;
  /// Of a device with the limits of sm_90.
  static constexpr unsigned most_blocks = 0x7FFF'FFFF;

  /// The options of runtimes that engines make from now on.
  static inline Options defaults{};
  /// The device of the calling thread: the number of one that is made, and of which streams and events are made.
  static inline thread_local std::size_t current = 0;

  Runtime() : Runtime(defaults) {}
  explicit Runtime(const Options& options)
      : options_(options), schedule_(options.seed), device_(options.memory, true), pinned_(options.memory / 4, false) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // ---- memory

  /// Free bytes of a device that is made now.
  static std::size_t unused_memory() { return defaults.memory; }
  std::byte* allocate(std::size_t bytes, const char* name) {
    refuse_in_capture("cudaMalloc");
    return device_.allocate(bytes, name);
  }
  void release(const std::byte* at) {
    refuse_in_capture("cudaFree");
    if (!lost_) finish_all();
    device_.release(at);
  }
  std::byte* allocate_pinned(std::size_t bytes, const char* name) {
    refuse_in_capture("cudaMallocHost");
    return pinned_.allocate(bytes, name);
  }
  void release_pinned(const std::byte* at) {
    refuse_in_capture("cudaFreeHost");
    if (!lost_) finish_all();
    pinned_.release(at);
  }

  // ---- queues and their order

  Stream make_stream() {
    expect_current("cudaStreamCreateWithFlags");
    streams_.emplace_back();
    return {streams_.size() - 1};
  }
  Event make_event() {
    expect_current("cudaEventCreateWithFlags");
    events_.emplace_back();
    return {events_.size() - 1};
  }
  void record(Event event, Stream stream) {
    enqueue(stream, {});
    const Queue& queue = queue_of(stream);
    events_.at(event.index) = {
        .graph = queue.graph, .task = queue.graph == none ? queue.last : queue.recorded.back(), .was_recorded = true};
  }
  void wait(Stream stream, Event event) {
    const Recorded& recorded = events_.at(event.index);
    Queue& queue = queue_of(stream);
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
    if (queue.graph == none) {  // this stream joins the capture
      queue.graph = recorded.graph;
      queue.recorded.clear();
    } else if (queue.graph != recorded.graph) {
      invalidate("cudaErrorStreamCaptureMerge", "one capture", "two");
    }
    queue.recorded.push_back(recorded.task);
  }
  void synchronize(Event event) {
    refuse_in_capture("cudaEventSynchronize");
    check_lost();
    const Recorded& recorded = events_.at(event.index);
    if (recorded.graph != none)
      refuse("cudaErrorCapturedEvent", "an event for the host", "one that only a graph records");
    if (recorded.was_recorded && !schedule_.is_done(recorded.task))
      carry_out([&] { schedule_.run_until(recorded.task); });
  }
  bool is_done(Event event) {
    refuse_in_capture("cudaEventQuery");
    check_lost();
    const Recorded& recorded = events_.at(event.index);
    if (recorded.graph != none)
      refuse("cudaErrorCapturedEvent", "an event for the host", "one that only a graph records");
    if (recorded.was_recorded && schedule_.wants_to_run()) carry_out([&] { schedule_.run_some(); });
    return !recorded.was_recorded || schedule_.is_done(recorded.task);
  }

  // ---- work

  void upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    demand(device_, to, bytes, "the target of an upload");
    demand(pinned_, from, bytes, "the source of an upload");
    enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    demand(device_, from, bytes, "the source of a download");
    demand(pinned_, to, bytes, "the target of a download");
    enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  void fill(std::byte* at, int byte, std::size_t bytes, Stream stream) {
    demand(device_, at, bytes, "the target of a fill");
    enqueue(stream, [=] { std::memset(at, byte, bytes); });
  }
  template <class Kernel>
  void prepare(const Kernel&, cuda::Grid grid) {
    refuse_in_capture("loading a kernel");
    check_grid(grid);
    loaded_.insert(&identity_of<Kernel>);
  }
  /// Outside of a capture it loads the kernel, too.
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 32764,
                  "regimen: a kernel is a small struct of plain members");
    check_grid(grid);
    if (loaded_.insert(&identity_of<Kernel>).second) refuse_in_capture("loading a kernel");
    if constexpr (std::is_same_v<Kernel, cuda::AnyKernel>) {
      enqueue(stream, {});
    } else {
      const auto is_allowed = [&](const void* at) { return device_.owns(at) || pinned_.owns(at); };
      if (host_pointers_.find(kernel, is_allowed) != nullptr)
        refuse("a launch (cudaErrorIllegalAddress)", "a kernel with addresses of the device", "one of the host's");
      enqueue(stream, [this, kernel] {
        if (!options_.fibers) return kernel::run_serial(kernel);
        if (!blocks_) blocks_ = std::make_unique<BlockRunner>();
        blocks_->set_order(static_cast<Order>(options_.seed % 3), options_.seed);
        blocks_->run(kernel);
      });
    }
  }

  /// Work of the host's that may use the device's memory, in its turn: the transport of ranks.
  void call(std::function<void()> work, Stream stream) { enqueue(stream, std::move(work)); }

  Product make_product(const cuda::ProductDescriptor& descriptor) {
    refuse_in_capture("cublasLtMatmulAlgoGetHeuristic");
    check_product(descriptor);
    check_promises(descriptor, options_.alignment);
    return {descriptor};
  }
  void multiply(const Product& product, const std::byte* a, const std::byte* b, std::byte* scratch, double beta,
                std::byte* d, Stream stream, const std::byte* bias = nullptr, std::byte* aux = nullptr,
                const std::byte* c = nullptr) {
    const cuda::ProductDescriptor& p = product.descriptor;
    check_c(p, c, beta, d);
    for_each_matrix(p, a, b, d, bias, aux, c, [&](const cuda::Layout& l, const std::byte* at, const char* name) {
      demand(device_, at, detail::bytes_of_matrix(l), name);
      check_address(l, at, name);
    });
    if (p.workspace > 0) demand(device_, scratch, p.workspace, "the library's workspace");
    if (reinterpret_cast<std::uintptr_t>(scratch) % 256 != 0)
      refuse("the library's workspace", "a multiple of 256 bytes", "another address");
    enqueue(stream, [=] {
      if (p.workspace > 0) std::memset(scratch, 0xFF, p.workspace);
      emulated::multiply(p, a, b, beta, d, bias, aux, c);
    });
  }

  Attention make_attention(const cuda::FusedAttention& attention) {
    refuse_in_capture("cudnnBackendFinalize");
    check_attention(attention);
    return {attention};
  }
  void attend(const Attention& made, const cuda::FusedTensors& tensors, std::byte* scratch, Stream stream) {
    const cuda::FusedAttention& a = made.attention;
    for_each_tensor(a, tensors, [&](const std::byte* at, std::size_t bytes, const char* name) {
      demand(device_, at, bytes, name);
      if (reinterpret_cast<std::uintptr_t>(at) % 16 != 0) refuse(name, "a multiple of 16 bytes", "another address");
    });
    demand(device_, scratch, a.workspace, "cuDNN's workspace");
    enqueue(stream, [=] {
      std::memset(scratch, 0xFF, a.workspace);
      emulated::attend(a, tensors);
    });
  }

  // ---- graphs

  void begin_capture(Stream stream) {
    Queue& queue = queue_of(stream);
    if (queue.graph != none) refuse("cudaErrorIllegalState", "a stream that is not captured", "one that is");
    graphs_.push_back({.origin = stream.index});
    queue.graph = graphs_.size() - 1;
    queue.recorded.clear();
    ++capturing_;
  }
  Graph end_capture(Stream stream) {
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
  void launch(Graph graph, Stream stream) {
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
    refuse_in_capture("cudaGraphExecDestroy");
    check_lost();
    Recording& recording = graphs_.at(graph.index);
    if (recording.is_destroyed) refuse("cudaGraphExecDestroy", "a graph", "one that was destroyed");
    if (recording.last != 0 && !schedule_.is_done(recording.last))
      refuse("cudaGraphExecDestroy", "a graph that runs no more", "one that may be running");
    recording.is_destroyed = true;
    recording.tasks.clear();
  }

  // ---- for tests

  void forget(std::byte* at, std::size_t bytes, Stream stream) {
    demand(device_, at, bytes, "what is forgotten");
    enqueue(stream, [=] {
      std::memset(at, 0xFF, bytes);
      Memory::forbid(at, bytes);
    });
  }
  void remember(std::byte* at, std::size_t bytes, Stream stream) {
    enqueue(stream, [=] { Memory::permit(at, bytes); });
  }
  static std::string numerics() { return "emulated device"; }
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
  std::string describe() const {
    return std::string("emulated device, ") + (options_.fibers ? "blocks of fibers" : "serial blocks");
  }
  std::size_t work_in(Graph graph) const { return graphs_.at(graph.index).tasks.size(); }

 private:
  static constexpr std::size_t none = detail::no_graph;
  using Queue = detail::Queue;
  using Recorded = detail::Recorded;
  using Recording = detail::Recording;

  /// A template has one address for each kernel.
  template <class Kernel>
  static constexpr char identity_of = 0;

  static void check_grid(cuda::Grid grid) {
    if (grid.blocks == 0 || grid.blocks > most_blocks || grid.threads == 0 ||
        grid.threads > BlockRunner::most_threads || grid.shared_bytes > BlockRunner::most_shared)
      refuse("a launch (cudaErrorInvalidConfiguration)",
             "1 to 2147483647 blocks of 1 to 1024 threads, and at most 227 KiB of shared memory",
             std::to_string(grid.blocks) + " blocks of " + std::to_string(grid.threads) + " threads, " +
                 std::to_string(grid.shared_bytes) + " bytes");
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
  static void demand(const Memory& memory, const void* at, std::size_t bytes, const char* what) {
    if (!memory.holds(at, bytes))
      throw Error(what, std::to_string(bytes) + " bytes of one allocation of the right kind (device, or pinned)",
                  memory.describe(at));
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

  Options options_;
  std::size_t number_ = current;
  Schedule schedule_;
  Memory device_, pinned_;
  HostPointers host_pointers_;
  std::unique_ptr<BlockRunner> blocks_;
  std::deque<Queue> streams_;
  std::deque<Recorded> events_;
  std::deque<Recording> graphs_;
  std::set<const char*> loaded_;  // kernels, by their identities
  std::size_t capturing_ = 0;
  bool lost_ = false;
};
static_assert(cuda::Runtime<Runtime>);

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
