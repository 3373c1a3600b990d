// regimen/engine/cuda/library.cuh — the bodies of library.hpp: thin calls of the CUDA runtime and cuBLASLt.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/errors.cuh>
#include <regimen/engine/cuda/library.hpp>
#include <regimen/engine/cuda/products.cuh>
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

namespace regimen::cuda {

namespace detail {

/// Does nothing: whether it is there says whether the build has kernels for the device.
struct Probe {
  static constexpr unsigned threads = 32;
  template <class Block>
  REGIMEN_HD void operator()(const Block&) const {}
};

inline int count_devices() {
  int devices = 0;
  demand(cudaGetDeviceCount(&devices), "Device<Cuda>");
  if (devices == 0) demand(cudaErrorNoDevice, "Device<Cuda>");
  return devices;
}
/// An Error unless there is a GPU for which this build has a kernel: without one the first launch would fail, and not
/// say why.
inline void expect_device() {
  (void)count_devices();
  cudaFuncAttributes attributes{};
  demand(cudaFuncGetAttributes(&attributes, kernel::entry<Probe>), "Device<Cuda>");
}
inline cudaEvent_t new_event() {
  cudaEvent_t made{};
  demand(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return made;
}
/// More than 48 KiB of shared memory a block only by request.
inline void admit_shared(const void* entry, Grid grid, const char* name) {
  if (grid.shared_bytes > 48 * 1024)
    demand(
        cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes)),
        name);
}

}  // namespace detail

/// Events that ranks which are threads show each other: one may be about to wait for another's when that one ends. So
/// these are used again, and never destroyed.
class LastingEvents final {
 public:
  static LastingEvents& of_process() {
    static LastingEvents events;
    return events;
  }
  cudaEvent_t take(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<cudaEvent_t>& all = unused_[device];
    if (all.empty()) return detail::new_event();
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

REGIMEN_INLINE Library::Library(const char* version, bool cudnn) {
  const auto text = [](const std::string& of, bool has) { return of + (has ? ", with cuDNN" : ", without cuDNN"); };
  if (std::string(version) != library_version || cudnn != has_cudnn)
    throw Error("regimen::cuda_compiled", "a library for " + text(version, cudnn) + ", as the program",
                text(library_version, has_cudnn), "compile both with the same headers and dependencies");
  unused_at_first_ = unused_memory();
  products_ = std::make_unique<Products>();
  detail::demand(cudaGetDevice(&device_), "cudaGetDevice");
}
/// Frees all that was made here, after the last work that uses it: graphs before the connections and the memory that
/// they use, streams at the end.
REGIMEN_INLINE Library::~Library() {
  const Scope here = scope();
  if (!all_work_ends()) return;  // a device that hangs keeps what it uses
  cudnn_.reset();
  for (const Graph graph : graphs_) cudaGraphExecDestroy(graph);
#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
  connections_.close();  // a connection ends after the graphs that use it, and before the memory that it knows
#endif
  for (void* const at : allocations_) cudaFree(at);
  for (void* const at : pinned_) cudaFreeHost(at);
  for (const Event event : events_) cudaEventDestroy(event);
  for (const Event event : lasting_) LastingEvents::of_process().give_back(device_, event);
  for (const Stream stream : streams_) cudaStreamDestroy(stream);
}

REGIMEN_INLINE std::size_t Library::unused_memory() {
  detail::expect_device();
  std::size_t unused = 0, all = 0;
  detail::demand(cudaMemGetInfo(&unused, &all), "cudaMemGetInfo");
  return unused;
}
/// A byte at least, so that every allocation has an address of its own.
REGIMEN_INLINE std::byte* Library::allocate(std::size_t bytes, const char* name) {
  void* at = nullptr;
  const cudaError_t status = cudaMalloc(&at, bytes == 0 ? 1 : bytes);
  if (status != cudaSuccess)
    detail::demand(status, ("memory for " + std::string(name) + ", " + std::to_string(bytes) + " bytes").c_str());
  allocations_.push_back(at);
  allocated_ += bytes;
  return static_cast<std::byte*>(at);
}
REGIMEN_INLINE std::byte* Library::allocate_pinned(std::size_t bytes, const char* name) {
  void* at = nullptr;
  const cudaError_t status = cudaMallocHost(&at, bytes == 0 ? 1 : bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw Error("cudaMallocHost", std::to_string(bytes) + " bytes of the host's memory that can be pinned, for " + name,
                cudaGetErrorName(status),
                "ask for less, free memory of the host, or raise its limit for locked memory (ulimit -l)");
  }
  detail::demand(status, "cudaMallocHost");
  pinned_.push_back(at);
  return static_cast<std::byte*>(at);
}
/// Streams do not wait for the default stream, on which a program's own kernels may run. Events take no time.
REGIMEN_INLINE Library::Stream Library::make_stream() {
  Stream made{};
  detail::demand(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  streams_.push_back(made);
  return made;
}
REGIMEN_INLINE Library::Event Library::make_event() {
  events_.push_back(detail::new_event());
  return events_.back();
}
REGIMEN_INLINE Library::Event Library::make_lasting_event() {
  lasting_.push_back(LastingEvents::of_process().take(device_));
  return lasting_.back();
}
REGIMEN_INLINE void Library::record(Event event, Stream stream) {
  detail::demand(cudaEventRecord(event, stream), "cudaEventRecord");
}
REGIMEN_INLINE void Library::wait(Stream stream, Event event) {
  detail::demand(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}
REGIMEN_INLINE void Library::synchronize(Event event) {
  detail::demand(cudaEventSynchronize(event), "cudaEventSynchronize");
}
REGIMEN_INLINE bool Library::is_done(Event event) {
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) (void)cudaGetLastError();  // no error, but the next launch would find it
  else detail::demand(status, "cudaEventQuery");
  return status == cudaSuccess;
}
REGIMEN_INLINE void Library::upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  detail::demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
}
REGIMEN_INLINE void Library::download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  detail::demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
}
REGIMEN_INLINE void Library::fill(std::byte* at, int byte, std::size_t bytes, Stream stream) {
  detail::demand(cudaMemsetAsync(at, byte, bytes, stream), "cudaMemsetAsync");
}
REGIMEN_INLINE void Library::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  detail::demand(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
}
/// Loads the kernel now: the first launch of one loads it, which a capture does not allow.
REGIMEN_INLINE void Library::prepare_entry(const void* entry, Grid grid, const char* name) {
  cudaFuncAttributes attributes{};
  detail::demand(cudaFuncGetAttributes(&attributes, entry), name);
  detail::admit_shared(entry, grid, name);
}
REGIMEN_INLINE void Library::launch_entry(const void* entry, void* kernel, Grid grid, Stream stream, const char* name) {
  detail::admit_shared(entry, grid, name);
  // Its own status: the last error could be that of another call of the program.
  void* arguments[] = {kernel};
  detail::demand(cudaLaunchKernel(entry, grid.blocks, grid.threads, arguments, grid.shared_bytes, stream), name);
}

REGIMEN_INLINE Library::Product Library::make_product(const ProductDescriptor& descriptor) {
  return std::make_shared<const LibraryProduct>(products_->make(descriptor));
}
REGIMEN_INLINE void Library::multiply(const Product& product, const ProductTensors& tensors, double beta,
                                      std::byte* scratch, Stream stream) {
  products_->multiply(*product, tensors, beta, scratch, stream);
}

#if defined(REGIMEN_HAS_CUDNN)
REGIMEN_INLINE cudnn::Handle& Library::handle_of_cudnn() {
  if (cudnn_ == nullptr) cudnn_ = std::make_shared<cudnn::Handle>();
  return *cudnn_;
}
REGIMEN_INLINE Library::Attention Library::make_attention(const FusedAttention& attention) {
  return std::make_shared<const cudnn::Attention>(cudnn::make_attention(handle_of_cudnn(), attention));
}
REGIMEN_INLINE void Library::attend(const Attention& made, const FusedTensors& tensors, std::byte* scratch,
                                    Stream stream) {
  cudnn::attend(handle_of_cudnn(), *made, tensors, scratch, stream);
}
REGIMEN_INLINE Library::Convolution Library::make_convolution(const ConvolutionDescriptor& convolution) {
  return std::make_shared<const cudnn::Convolution>(cudnn::make_convolution(handle_of_cudnn(), convolution));
}
REGIMEN_INLINE void Library::convolve(const Convolution& made, const ConvolutionTensors& tensors, std::byte* scratch,
                                      Stream stream) {
  cudnn::convolve(handle_of_cudnn(), *made, tensors, scratch, stream);
}
#endif
#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
REGIMEN_INLINE void Library::take_device(std::size_t place) {
  detail::demand(cudaSetDevice(static_cast<int>(place) % detail::count_devices()), "cudaSetDevice");
}
#endif

/// Relaxed: other threads, of other ranks, may allocate and load meanwhile.
REGIMEN_INLINE void Library::begin_capture(Stream stream) {
  detail::demand(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
}
/// The recorded graph is destroyed at once: what is launched is its instance.
REGIMEN_INLINE Library::Graph Library::end_capture(Stream stream) {
  cudaGraph_t graph{};
  Graph made{};
  detail::demand(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  detail::demand(status, "cudaGraphInstantiate");
  graphs_.push_back(made);
  return made;
}
REGIMEN_INLINE void Library::launch(Graph graph, Stream stream) {
  detail::demand(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
}
REGIMEN_INLINE void Library::destroy(Graph graph) {
  std::erase(graphs_, graph);
  detail::demand(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
}
REGIMEN_INLINE void Library::open_range(const char* name) { nvtxRangePushA(name); }
REGIMEN_INLINE void Library::close_range() { nvtxRangePop(); }
REGIMEN_INLINE std::string Library::numerics() {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return "no GPU";
  return std::string(properties.name) + ", cuBLASLt " + std::to_string(cublasLtGetVersion());
}
/// What the device has less than at the beginning, without what was allocated here: contexts, kernels and the
/// libraries' memory, and what other programs have taken since. Never negative.
REGIMEN_INLINE std::size_t Library::library_bytes() const {
  const std::size_t taken = unused_at_first_ - (std::min)(unused_at_first_, unused_memory());
  return taken - (std::min)(taken, allocated_);
}

/// The library's device becomes the calling thread's, until the Scope ends; then the one before is set again.
REGIMEN_INLINE Library::Scope::Scope(int device) {
  if (int now = 0; cudaGetDevice(&now) == cudaSuccess && now != device && cudaSetDevice(device) == cudaSuccess)
    before_ = now;
}
REGIMEN_INLINE Library::Scope::~Scope() {
  if (before_ != unchanged) cudaSetDevice(before_);
}

/// Work that is queued uses what the destructor frees. After an abort that may not end.
REGIMEN_INLINE bool Library::all_work_ends() {
  for (const Stream stream : streams_) {
#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
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

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
