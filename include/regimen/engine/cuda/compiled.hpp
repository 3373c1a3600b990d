// regimen/engine/cuda/compiled.hpp — cuda::Runtime of a program that links regimen::cuda_compiled: kernels, CUDA and cuBLASLt by
// calls of that library. No header of CUDA, and no nvcc.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/compiled.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/kernel/add_wider.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/composed_attention.hpp>
#include <regimen/kernel/embedding.hpp>
#include <regimen/kernel/library_random.hpp>
#include <regimen/kernel/pad_rows.hpp>
#include <regimen/version.hpp>
#if defined(__CUDACC__)
#include <regimen/kernel/device.cuh>
#endif

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

struct CUstream_st;  // what CUDA's handles point to
struct CUevent_st;
struct CUgraphExec_st;

namespace regimen::cuda {

// ---- the list: the operations of fp32, tf32 and bf16 that the CPU's library has, and those of GPUs alone

namespace kernels {

namespace mp = boost::mp11;

template <class T, class... Gradients>
using OfGpu = mp::mp_list<op::DropoutSum<T>, op::NormalizeBackwardSum<false, T, Gradients>...,
                          op::NormalizeBackwardSum<true, T, Gradients>..., kernel::AttentionBiasBackward<T>,
                          kernel::AttentionWeights<T, false>, kernel::AttentionWeights<T, true>,
                          kernel::AttentionWeightsBackward<T, false>, kernel::AttentionWeightsBackward<T, true>>;
using Fp32 = mp::mp_append<cpu::kernels::Fp32, OfGpu<fp32, fp32>, cpu::kernels::Steps,
                           mp::mp_list<op::Cast<fp32, fp16>, op::Zero<fp64>, kernel::LibraryRandom>>;
using Bf16 = mp::mp_append<cpu::kernels::Bf16, OfGpu<bf16, fp32, bf16>,
                           mp::mp_list<op::CrossEntropy<true, fp32, bf16>, op::SoftCrossEntropy<true, fp32, bf16>,
                                       kernel::AddWider<bf16, fp32>, kernel::PadRows<fp32, bf16>>>;
struct Set final : cpu::kernels::SetOf<mp::mp_append<Fp32, Bf16>> {};

}  // namespace kernels

/// Whether regimen::cuda_compiled has a kernel: that of an operation in the list.
template <class Kernel>
inline constexpr bool is_compiled = false;
template <class Operation, unsigned pass>
inline constexpr bool is_compiled<kernel::Kernel<Operation, pass>> =
    std::is_base_of_v<boost::mp11::mp_identity<Operation>, kernels::Set>;
template <bool counts>
inline constexpr bool is_compiled<kernel::OrderTokens<counts>> = true;  // launched for every EmbedBackward

/// The address of kernel::entry<Kernel>, of the library's kernels.
template <class Kernel>
const void* compiled_entry();

namespace detail {

template <bool is_there>
struct KernelIsCompiled {
  static_assert(
      is_there,
      "regimen: regimen::cuda_compiled lacks the kernel of this operation; compile this file by nvcc, as a .cu file");
};

#if defined(__CUDACC__)  // compiles what is missing
template <class Kernel>
inline constexpr bool has_entry = true;
template <class Kernel>
const void* entry_of() {
  if constexpr (is_compiled<Kernel>) return compiled_entry<Kernel>();
  else return reinterpret_cast<const void*>(kernel::entry<Kernel>);
}
#else
template <class Kernel>
inline constexpr bool has_entry = is_compiled<Kernel>;
template <class Kernel>
const void* entry_of() {
  return compiled_entry<Kernel>();
}
#endif

}  // namespace detail

class Library;
struct LibraryProduct;
struct LibraryAttention;
struct LibraryConvolution;

/// The current device of the calling thread. A failed call throws an Error with the name of its code. Each call is one of the
/// class Library's, which has their comments (library.cuh); the bodies are in compiled/cuda/library.cu.
class CompiledLibrary final {
 public:
  using Stream = CUstream_st*;
  using Event = CUevent_st*;
  using Graph = CUgraphExec_st*;
  using Product = std::shared_ptr<LibraryProduct>;
  using Attention = std::shared_ptr<LibraryAttention>;
  using Convolution = std::shared_ptr<LibraryConvolution>;
  static constexpr bool has_cudnn = cuda::has_cudnn;
  static constexpr std::size_t workspace = library_workspace;
  static constexpr double cut_flops = library_cut_flops;

  CompiledLibrary() : CompiledLibrary(library_version, has_cudnn) {}
  CompiledLibrary(const CompiledLibrary&) = delete;
  CompiledLibrary& operator=(const CompiledLibrary&) = delete;
  ~CompiledLibrary();

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
    }
  }

  Product make_product(const ProductDescriptor& descriptor);
  void multiply(const Product& product, const ProductTensors& tensors, double beta, std::byte* scratch, Stream stream);
  Attention make_attention(const FusedAttention& attention);
  void attend(const Attention& made, const FusedTensors& tensors, std::byte* scratch, Stream stream);
  Convolution make_convolution(const ConvolutionDescriptor& convolution);
  void convolve(const Convolution& made, const ConvolutionTensors& tensors, std::byte* scratch, Stream stream);

  void begin_capture(Stream stream);
  Graph end_capture(Stream stream);
  void launch(Graph graph, Stream stream);
  void destroy(Graph graph);

  void open_range(const char* name);
  void close_range();
  void forget(std::byte* at, std::size_t bytes, Stream stream);
  void remember(std::byte*, std::size_t, Stream) {}

  static std::string numerics();
  std::size_t device() const;
  std::string describe() const;
  std::size_t library_bytes() const;

  /// While it lives, its device is the calling thread's.
  class [[nodiscard]] Scope final {
   public:
    explicit Scope(int device);
    Scope(const Scope&) = delete;
    ~Scope();

   private:
    int before_;
  };
  Scope scope() const;

 private:
  /// Throws Error unless the library was compiled from these headers, with cuDNN as the program.
  CompiledLibrary(const char* version, bool cudnn);
  void prepare_entry(const void* entry, Grid grid, const char* name);
  void launch_entry(const void* entry, void* kernel, Grid grid, Stream stream, const char* name);

  std::unique_ptr<Library, void (*)(Library*)> library_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
