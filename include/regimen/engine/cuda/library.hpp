// regimen/engine/cuda/library.hpp — cuda::Runtime on a GPU: CUDA, cuBLASLt, cuDNN and NCCL. The bodies are in
// library.cuh, for files that nvcc compiles. A program that links regimen::cuda_compiled has them there: no header of
// CUDA, and no nvcc.
#pragma once

#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/version.hpp>
#if defined(REGIMEN_CUDA_COMPILED) || !defined(__CUDACC__)
#include <regimen/engine/cuda/compiled.hpp>
#endif
#if defined(__CUDACC__)
#include <regimen/kernel/device.cuh>
#endif
#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
#include <regimen/engine/cuda/nccl.cuh>
#endif

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct CUstream_st;  // what CUDA's handles point to
struct CUevent_st;
struct CUgraphExec_st;

namespace regimen::cuda {

namespace detail {

template <bool is_there>
struct KernelIsCompiled {
  static_assert(
      is_there,
      "regimen: regimen::cuda_compiled lacks the kernel of this operation; compile this file by nvcc, as a .cu file");
};

// The two forms agree about every kernel that the library has, and only files by nvcc ask for another: so one program
// may have files of both kinds.
#if defined(__CUDACC__)  // compiles what is missing
template <class Kernel>
inline constexpr bool has_entry = true;
template <class Kernel>
[[gnu::always_inline]] inline const void* entry_of() {
#if defined(REGIMEN_CUDA_COMPILED)
  if constexpr (is_compiled<Kernel>) return compiled_entry<Kernel>();
  else
#endif
    return reinterpret_cast<const void*>(kernel::entry<Kernel>);
}
#else
template <class Kernel>
inline constexpr bool has_entry = is_compiled<Kernel>;
template <class Kernel>
[[gnu::always_inline]] inline const void* entry_of() {
  return compiled_entry<Kernel>();
}
#endif

}  // namespace detail

class Products;
struct LibraryProduct;
namespace cudnn {
class Handle;
struct Attention;
struct Convolution;
}  // namespace cudnn

/// The current device of the calling thread. A failed call throws an Error with the name of its code.
class Library {
 public:
  using Stream = CUstream_st*;
  using Event = CUevent_st*;
  using Graph = CUgraphExec_st*;
  using Product = std::shared_ptr<const LibraryProduct>;
  using Attention = std::shared_ptr<const cudnn::Attention>;
  using Convolution = std::shared_ptr<const cudnn::Convolution>;
  static constexpr bool has_cudnn = cuda::has_cudnn;
  static constexpr std::size_t workspace = library_workspace;
  static constexpr double cut_flops = library_cut_flops;

  Library() : Library(library_version, has_cudnn) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  /// Free bytes of the device.
  static std::size_t unused_memory();
  std::byte* allocate(std::size_t bytes, const char* name);
  std::byte* allocate_pinned(std::size_t bytes, const char* name);

  Stream make_stream();
  Event make_event();
  Event make_lasting_event();
  void record(Event event, Stream stream);
  void wait(Stream stream, Event event);
  void synchronize(Event event);
  bool is_done(Event event);

  void upload(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream);
  void download(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream);
  void fill(std::byte* at, int byte, std::size_t bytes, Stream stream);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream);

  /// CUDA loads a kernel when it is first asked for.
  template <class Kernel>
  void prepare(const Kernel&, Grid grid) {
    if constexpr (detail::has_entry<Kernel>)
      prepare_entry(detail::entry_of<Kernel>(), grid, detail::operation_name<Kernel>());
    else static_cast<void>(detail::KernelIsCompiled<detail::has_entry<Kernel>>{});
  }
  template <class Kernel>
  void launch(const Kernel& kernel, Grid grid, Stream stream) {
    if constexpr (detail::has_entry<Kernel>) {
      Kernel argument = kernel;
      launch_entry(detail::entry_of<Kernel>(), &argument, grid, stream, detail::operation_name<Kernel>());
    } else static_cast<void>(detail::KernelIsCompiled<detail::has_entry<Kernel>>{});
  }

  Product make_product(const ProductDescriptor& descriptor);
  void multiply(const Product& product, const ProductTensors& tensors, double beta, std::byte* scratch, Stream stream);
  Attention make_attention(const FusedAttention& attention);
  void attend(const Attention& made, const FusedTensors& tensors, std::byte* scratch, Stream stream);
  Convolution make_convolution(const ConvolutionDescriptor& convolution);
  void convolve(const Convolution& made, const ConvolutionTensors& tensors, std::byte* scratch, Stream stream);

#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
  using Id = ncclUniqueId;
  using Connection = nccl::Connection;
  static void take_device(std::size_t place);
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

  /// Other threads of the program may call CUDA meanwhile, and so may the libraries, which load their own kernels when
  /// they first launch them.
  void begin_capture(Stream stream);
  Graph end_capture(Stream stream);
  void launch(Graph graph, Stream stream);
  void destroy(Graph graph);

  /// Without a profiler each is a test of a null pointer.
  void open_range(const char* name);
  void close_range();
  void forget(std::byte* at, std::size_t bytes, Stream stream) { fill(at, 0xFF, bytes, stream); }
  void remember(std::byte*, std::size_t, Stream) {}

  static std::string numerics();
  std::size_t device() const { return static_cast<std::size_t>(device_); }
  std::string describe() const { return "GPU " + std::to_string(device_) + ", " + numerics(); }
  /// What libraries, loaded kernels and graphs have taken so far of the device's memory, outside of allocate(): as the
  /// device says, so that what other programs take meanwhile is counted, too.
  std::size_t library_bytes() const;

  /// While it lives, its device is the calling thread's. Changes nothing if it is already: setting a device makes a
  /// context on it.
  class [[nodiscard]] Scope final {
   public:
    explicit Scope(int device);
    Scope(const Scope&) = delete;
    ~Scope();

   private:
    int before_ = unchanged;
  };
  /// The device that was the constructing thread's.
  Scope scope() const { return Scope(device_); }

 private:
  static constexpr int unchanged = -1;
  /// Throws Error unless these bodies were compiled from the program's headers, with cuDNN as the program.
  Library(const char* version, bool cudnn);
  /// By the address of kernel::entry<Kernel>, and of the Kernel.
  void prepare_entry(const void* entry, Grid grid, const char* name);
  void launch_entry(const void* entry, void* kernel, Grid grid, Stream stream, const char* name);
  cudnn::Handle& handle_of_cudnn();
  bool all_work_ends();

  std::size_t unused_at_first_ = 0, allocated_ = 0;  // bytes
  int device_ = 0;
  std::unique_ptr<Products> products_;
#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
  nccl::Connections connections_;
#endif
  std::vector<void*> allocations_, pinned_;
  std::shared_ptr<cudnn::Handle> cudnn_;  // an incomplete class where there is no cuDNN
  std::vector<Stream> streams_;
  std::vector<Event> events_, lasting_;
  std::vector<Graph> graphs_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
