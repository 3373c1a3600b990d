// regimen/engine/cuda/library.cuh — cuda::Runtime on a GPU: thin calls of the CUDA runtime and cuBLASLt.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/errors.cuh>
#include <regimen/engine/cuda/products.cuh>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/kernel/device.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#if defined(REGIMEN_HAS_CUDNN)
#include <regimen/engine/cuda/cudnn_attention.cuh>
#include <regimen/engine/cuda/cudnn_convolution.cuh>
#endif
#if defined(REGIMEN_HAS_NCCL)
#include <regimen/engine/cuda/nccl.cuh>
#endif

namespace regimen::cuda {

namespace detail {

/// Does nothing: whether it is there says whether the build has kernels for the device.
struct Probe {
  static constexpr unsigned threads = 32;
  template <class Block>
  REGIMEN_HD void operator()(const Block&) const {}
};

}  // namespace detail

/// Events that ranks which are threads show each other: one may be about to wait for another's when that one ends. So
/// these are used again, and never destroyed.
class LastingEvents final {
 public:
  static LastingEvents& of_process() {
    static LastingEvents events;
    return events;
  }
  /// Null: there is none.
  cudaEvent_t take(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<cudaEvent_t>& all = unused_[device];
    if (all.empty()) return nullptr;
    const cudaEvent_t last = all.back();
    all.pop_back();
    return last;
  }
  void give_back(int device, cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    unused_[device].push_back(event);
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<cudaEvent_t>> unused_;
};

/// The current device of the calling thread. A failed call throws an Error with the name of its code.
class Library {
 public:
  using Stream = cudaStream_t;
  using Event = cudaEvent_t;
  using Graph = cudaGraphExec_t;
  using Product = Products::Product;

#if defined(REGIMEN_HAS_CUDNN)
  using Attention = cudnn::Attention;
  using Convolution = cudnn::Convolution;
#else
  struct Attention {};
  struct Convolution {};
#endif
  static constexpr bool has_cudnn = cuda::has_cudnn;

  static constexpr std::size_t workspace = library_workspace;
  static constexpr double cut_flops = library_cut_flops;

  Library() : unused_at_first_(unused_memory()) { detail::demand(cudaGetDevice(&device_), "cudaGetDevice"); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    const Scope here = scope();
    if (!all_work_ends()) return;  // a device that hangs keeps what it uses
#if defined(REGIMEN_HAS_CUDNN)
    cudnn_.reset();
#endif
    for (const Graph graph : graphs_) cudaGraphExecDestroy(graph);
#if defined(REGIMEN_HAS_NCCL)
    connections_.close();  // a connection ends after the graphs that use it, and before the memory that it knows
#endif
    for (void* const at : allocations_) cudaFree(at);
    for (void* const at : pinned_) cudaFreeHost(at);
    for (const Event event : events_) cudaEventDestroy(event);
    for (const Event event : lasting_) LastingEvents::of_process().give_back(device_, event);
    for (const Stream stream : streams_) cudaStreamDestroy(stream);
  }

  /// Free bytes of the device.
  static std::size_t unused_memory() {
    expect_device();
    std::size_t unused = 0, all = 0;
    detail::demand(cudaMemGetInfo(&unused, &all), "cudaMemGetInfo");
    return unused;
  }
  std::byte* allocate(std::size_t bytes, const char* name) {
    void* at = nullptr;
    const cudaError_t status = cudaMalloc(&at, bytes == 0 ? 1 : bytes);
    if (status != cudaSuccess)
      detail::demand(status, ("memory for " + std::string(name) + ", " + std::to_string(bytes) + " bytes").c_str());
    allocations_.push_back(at);
    allocated_ += bytes;
    return static_cast<std::byte*>(at);
  }
  std::byte* allocate_pinned(std::size_t bytes, const char* name) {
    void* at = nullptr;
    const cudaError_t status = cudaMallocHost(&at, bytes == 0 ? 1 : bytes);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw Error("cudaMallocHost",
                  std::to_string(bytes) + " bytes of the host's memory that can be pinned, for " + name,
                  cudaGetErrorName(status),
                  "ask for less, free memory of the host, or raise its limit for locked memory (ulimit -l)");
    }
    detail::demand(status, "cudaMallocHost");
    pinned_.push_back(at);
    return static_cast<std::byte*>(at);
  }

  Stream make_stream() {
    Stream made{};
    detail::demand(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    streams_.push_back(made);
    return made;
  }
  Event make_event() {
    events_.push_back(new_event());
    return events_.back();
  }
  Event make_lasting_event() {
    const Event old = LastingEvents::of_process().take(device_);
    lasting_.push_back(old != nullptr ? old : new_event());
    return lasting_.back();
  }
  void record(Event event, Stream stream) { detail::demand(cudaEventRecord(event, stream), "cudaEventRecord"); }
  void wait(Stream stream, Event event) {
    detail::demand(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
  }
  void synchronize(Event event) { detail::demand(cudaEventSynchronize(event), "cudaEventSynchronize"); }
  bool is_done(Event event) {
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaErrorNotReady) (void)cudaGetLastError();  // no error, but the next launch would find it
    else detail::demand(status, "cudaEventQuery");
    return status == cudaSuccess;
  }

  void upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    detail::demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    detail::demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  }
  void fill(std::byte* at, int byte, std::size_t bytes, Stream stream) {
    detail::demand(cudaMemsetAsync(at, byte, bytes, stream), "cudaMemsetAsync");
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    detail::demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
  }
  /// CUDA loads a kernel when it is first asked for.
  template <class Kernel>
  void prepare(const Kernel&, Grid grid) {
    prepare_entry(reinterpret_cast<const void*>(kernel::entry<Kernel>), grid, detail::operation_name<Kernel>());
  }
  template <class Kernel>
  void launch(const Kernel& kernel, Grid grid, Stream stream) {
    Kernel argument = kernel;
    launch_entry(reinterpret_cast<const void*>(kernel::entry<Kernel>), &argument, grid, stream,
                 detail::operation_name<Kernel>());
  }
  /// The same by the address of kernel::entry<Kernel>, and of the Kernel.
  void prepare_entry(const void* entry, Grid grid, const char* name) {
    cudaFuncAttributes attributes{};
    detail::demand(cudaFuncGetAttributes(&attributes, entry), name);
    admit_shared(entry, grid, name);
  }
  void launch_entry(const void* entry, void* kernel, Grid grid, Stream stream, const char* name) {
    admit_shared(entry, grid, name);
    // Its own status: the last error could be that of another call of the program.
    void* arguments[] = {kernel};
    detail::demand(cudaLaunchKernel(entry, grid.blocks, grid.threads, arguments, grid.shared_bytes, stream), name);
  }

  Product make_product(const ProductDescriptor& descriptor) { return products_.make(descriptor); }
  void multiply(const Product& product, const ProductTensors& tensors, double beta, std::byte* scratch, Stream stream) {
    products_.multiply(product, tensors, beta, scratch, stream);
  }

#if defined(REGIMEN_HAS_NCCL)
  using Id = ncclUniqueId;
  using Connection = nccl::Connection;
  static void take_device(std::size_t place) {
    int devices = 0;
    detail::demand(cudaGetDeviceCount(&devices), "Device<Cuda>");
    if (devices == 0) detail::demand(cudaErrorNoDevice, "Device<Cuda>");
    detail::demand(cudaSetDevice(static_cast<int>(place) % devices), "cudaSetDevice");
  }
  static Id make_id() { return nccl::make_id(); }
  Connection connect(const Id& id, std::size_t rank, std::size_t size) { return connections_.connect(id, rank, size); }
  bool is_ready(Connection& connection) { return nccl::is_ready(connection); }
  void collect(Connection& connection, const Collective& collective, const std::byte* own, std::byte* all,
               Stream stream) {
    nccl::collect(connection, collective, own, all, stream);
  }
  void abort(Connection& connection) { connections_.abort(connection); }
  static std::string versions() { return nccl::versions(); }
#endif

#if defined(REGIMEN_HAS_CUDNN)
  Attention make_attention(const FusedAttention& attention) {
    return cudnn::make_attention(handle_of_cudnn(), attention);
  }
  void attend(const Attention& made, const FusedTensors& tensors, std::byte* scratch, Stream stream) {
    cudnn::attend(handle_of_cudnn(), made, tensors, scratch, stream);
  }
  Convolution make_convolution(const ConvolutionDescriptor& convolution) {
    return cudnn::make_convolution(handle_of_cudnn(), convolution);
  }
  void convolve(const Convolution& made, const ConvolutionTensors& tensors, std::byte* scratch, Stream stream) {
    cudnn::convolve(handle_of_cudnn(), made, tensors, scratch, stream);
  }
#endif

  /// Other threads of the program may call CUDA meanwhile, and so may the libraries, which load their own kernels when
  /// they first launch them.
  void begin_capture(Stream stream) {
    detail::demand(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  }
  Graph end_capture(Stream stream) {
    cudaGraph_t graph{};
    Graph made{};
    detail::demand(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    detail::demand(status, "cudaGraphInstantiate");
    graphs_.push_back(made);
    return made;
  }
  void launch(Graph graph, Stream stream) { detail::demand(cudaGraphLaunch(graph, stream), "cudaGraphLaunch"); }
  void destroy(Graph graph) {
    std::erase(graphs_, graph);
    detail::demand(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  }

  /// Without a profiler each is a test of a null pointer.
  void open_range(const char* name) { nvtxRangePushA(name); }
  void close_range() { nvtxRangePop(); }

  void forget(std::byte* at, std::size_t bytes, Stream stream) { fill(at, 0xFF, bytes, stream); }
  void remember(std::byte*, std::size_t, Stream) {}

  static std::string numerics() {
    int device = 0;
    cudaDeviceProp properties{};
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
      return "no GPU";
    return std::string(properties.name) + ", cuBLASLt " + std::to_string(cublasLtGetVersion());
  }
  std::size_t device() const { return static_cast<std::size_t>(device_); }
  std::string describe() const { return "GPU " + std::to_string(device_) + ", " + numerics(); }

  /// What libraries, loaded kernels and graphs have taken so far of the device's memory, outside of allocate(): as the
  /// device says, so that what other programs take meanwhile is counted, too.
  std::size_t library_bytes() const {
    const std::size_t taken = unused_at_first_ - (std::min)(unused_at_first_, unused_memory());
    return taken - (std::min)(taken, allocated_);
  }

  /// While it lives, its device is the calling thread's.
  class [[nodiscard]] Scope final {
   public:
    explicit Scope(int device) : before_(enter(device)) {}
    Scope(const Scope&) = delete;
    ~Scope() { leave(before_); }

   private:
    int before_;
  };
  /// Makes a device the calling thread's, and returns the one before. Changes nothing if it is: setting a device makes a
  /// context on it.
  static int enter(int device) {
    if (int now = 0; cudaGetDevice(&now) == cudaSuccess && now != device && cudaSetDevice(device) == cudaSuccess)
      return now;
    return unchanged;
  }
  static void leave(int before) {
    if (before != unchanged) cudaSetDevice(before);
  }
  /// The device that was the constructing thread's.
  Scope scope() const { return Scope(device_); }

 private:
  static constexpr int unchanged = -1;
#if defined(REGIMEN_HAS_CUDNN)
  cudnn::Handle& handle_of_cudnn() {
    if (cudnn_ == nullptr) cudnn_ = std::make_unique<cudnn::Handle>();
    return *cudnn_;
  }
#endif
  static Event new_event() {
    Event made{};
    detail::demand(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return made;
  }
  /// Work that is queued uses what the destructor frees. After an abort that may not end.
  bool all_work_ends() {
    for (const Stream stream : streams_) {
#if defined(REGIMEN_HAS_NCCL)
      const auto until = std::chrono::steady_clock::now() + nccl::Connections::patience;
      if (connections_.was_aborted()) {
        if (!nccl::Connections::wait(until, [&] { return cudaStreamQuery(stream) != cudaErrorNotReady; })) return false;
        continue;
      }
#endif
      cudaStreamSynchronize(stream);
    }
    return true;
  }
  /// More than 48 KiB of shared memory a block only by request.
  static void admit_shared(const void* entry, Grid grid, const char* name) {
    if (grid.shared_bytes > 48 * 1024)
      detail::demand(
          cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes)),
          name);
  }
  static void expect_device() {
    int devices = 0;
    detail::demand(cudaGetDeviceCount(&devices), "Device<Cuda>");
    if (devices == 0) detail::demand(cudaErrorNoDevice, "Device<Cuda>");
    cudaFuncAttributes attributes{};
    detail::demand(cudaFuncGetAttributes(&attributes, kernel::entry<detail::Probe>), "Device<Cuda>");
  }

  std::size_t unused_at_first_ = 0, allocated_ = 0;  // bytes
  int device_ = 0;
  Products products_;
#if defined(REGIMEN_HAS_NCCL)
  nccl::Connections connections_;
#endif
  std::vector<void*> allocations_, pinned_;
#if defined(REGIMEN_HAS_CUDNN)
  std::unique_ptr<cudnn::Handle> cudnn_{};
#endif
  std::vector<Stream> streams_;
  std::vector<Event> events_, lasting_;
  std::vector<Graph> graphs_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
