// regimen/engine/cuda/library.cuh — cuda::Runtime on a GPU: thin calls of the CUDA runtime and cuBLASLt.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/errors.cuh>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/kernel/device.cuh>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#if defined(REGIMEN_HAS_CUDNN)
#include <regimen/engine/cuda/cudnn.cuh>
#endif

namespace regimen::cuda {

namespace detail {

constexpr cudaDataType_t library_type(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return CUDA_R_64F;
    case ElementType::float32:
      return CUDA_R_32F;
    case ElementType::bfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_16F;
  }
}

constexpr cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::gelu_bias:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::gelu_aux_bias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::dgelu:
      return CUBLASLT_EPILOGUE_DGELU;
    default:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

/// Does nothing: whether it is there says whether the build has kernels for the device.
struct Probe {
  static constexpr unsigned threads = 32;
  template <class Block>
  REGIMEN_HD void operator()(const Block&) const {}
};

/// A descriptor of the library, destroyed with its owner.
template <class T, cublasStatus_t (*destroy)(T)>
class Held final {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held(Held&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }
  ~Held() {
    if (made_ != nullptr) destroy(made_);
  }
  T* put() { return &made_; }
  T get() const { return made_; }

 private:
  T made_ = nullptr;
};
using HeldLayout = Held<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using HeldOperation = Held<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using HeldPreference = Held<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

}  // namespace detail

/// The current device of the calling thread. A failed call throws an Error with the name of its code.
class Library final {
 public:
  using Stream = cudaStream_t;
  using Event = cudaEvent_t;
  using Graph = cudaGraphExec_t;

  /// Descriptors and the algorithm that the library's heuristic named first.
  struct Product {
    ProductDescriptor descriptor{};
    detail::HeldOperation operation{};
    detail::HeldLayout a{}, b{}, d{};
    cublasLtMatmulAlgo_t algorithm{};
  };
#if defined(REGIMEN_HAS_CUDNN)
  using Attention = cudnn::Plan;
#else
  struct Attention {};
#endif
  static constexpr bool has_fused_attention = cuda::has_cudnn;

  static constexpr std::size_t workspace = library_workspace;

  Library() : unused_at_first_(unused_memory()) {
    detail::demand_version("cuBLASLt", cublasLtGetVersion(), CUBLAS_VERSION);
    detail::demand(cudaGetDevice(&device_), "cudaGetDevice");
    detail::demand(cublasLtCreate(&handle_), "cublasLtCreate");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    const Scope here = scope();
    for (const Stream stream : streams_) cudaStreamSynchronize(stream);  // what is freed below is in use until then
#if defined(REGIMEN_HAS_CUDNN)
    cudnn_.reset();
#endif
    for (void* const at : allocations_) cudaFree(at);
    for (void* const at : pinned_) cudaFreeHost(at);
    for (const Graph graph : graphs_) cudaGraphExecDestroy(graph);
    for (const Event event : events_) cudaEventDestroy(event);
    for (const Stream stream : streams_) cudaStreamDestroy(stream);
    if (handle_ != nullptr) cublasLtDestroy(handle_);
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
  std::byte* allocate_pinned(std::size_t bytes, const char*) {
    void* at = nullptr;
    const cudaError_t status = cudaMallocHost(&at, bytes == 0 ? 1 : bytes);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw Error("cudaMallocHost", std::to_string(bytes) + " bytes of the host's memory that can be pinned",
                  cudaGetErrorName(status),
                  "free memory of the host, or raise its limit for locked memory (ulimit -l)");
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
    Event made{};
    detail::demand(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    events_.push_back(made);
    return made;
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
  /// CUDA loads a kernel when it is first asked for.
  template <class Kernel>
  void prepare(const Kernel&, Grid grid) {
    cudaFuncAttributes attributes{};
    detail::demand(cudaFuncGetAttributes(&attributes, kernel::entry<Kernel>), detail::operation_name<Kernel>());
    admit_shared<Kernel>(grid);
  }
  template <class Kernel>
  void launch(const Kernel& kernel, Grid grid, Stream stream) {
    admit_shared<Kernel>(grid);
    // Its own status: the last error could be that of another call of the program.
    Kernel argument = kernel;
    void* arguments[] = {&argument};
    detail::demand(
        cudaLaunchKernel(kernel::entry<Kernel>, grid.blocks, grid.threads, arguments, grid.shared_bytes, stream),
        detail::operation_name<Kernel>());
  }

  Product make_product(const ProductDescriptor& descriptor) {
    Product made;
    made.descriptor = descriptor;
    const cublasComputeType_t compute = descriptor.wide         ? CUBLAS_COMPUTE_64F
                                        : descriptor.reads_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                : CUBLAS_COMPUTE_32F;
    detail::demand(cublasLtMatmulDescCreate(made.operation.put(), compute, descriptor.wide ? CUDA_R_64F : CUDA_R_32F),
                   "cublasLtMatmulDescCreate");
    const cublasOperation_t transpose = CUBLAS_OP_T;
    if (descriptor.transpose_a) set(made.operation, CUBLASLT_MATMUL_DESC_TRANSA, transpose);
    if (descriptor.transpose_b) set(made.operation, CUBLASLT_MATMUL_DESC_TRANSB, transpose);
    if (descriptor.epilogue != Epilogue::none)
      set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, detail::library_epilogue(descriptor.epilogue));
    // The heuristic looks at the addresses, which the product of each layer has its own of.
    if (reads_bias(descriptor.epilogue))
      set(made.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
          reinterpret_cast<const void*>(std::uintptr_t{descriptor.bias_alignment}));
    if (has_aux(descriptor.epilogue)) {
      set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
          reinterpret_cast<const void*>(std::uintptr_t{descriptor.aux_alignment}));
      set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, descriptor.aux_leading);
    }
    describe_layout(made.a, descriptor.a);
    describe_layout(made.b, descriptor.b);
    describe_layout(made.d, descriptor.d);
    detail::HeldPreference preference;
    detail::demand(cublasLtMatmulPreferenceCreate(preference.put()), "cublasLtMatmulPreferenceCreate");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, descriptor.workspace);
    // Sums that are cut along k are joined in the type in which they were made: by default also in that of D, 16 bits.
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, descriptor.a.alignment);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, descriptor.b.alignment);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        descriptor.c_alignment > 0 ? descriptor.c_alignment : descriptor.d.alignment);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, descriptor.d.alignment);
    // The best first. Only those in which the library found no fault have an algorithm.
    std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, made.operation.get(), made.a.get(), made.b.get(), made.d.get(), made.d.get(), preference.get(),
        static_cast<int>(results.size()), results.data(), &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) detail::demand(status, "cublasLtMatmulAlgoGetHeuristic");
    const auto end = results.begin() + (status == CUBLAS_STATUS_SUCCESS ? found : 0);
    const auto best = std::find_if(results.begin(), end, [&](const cublasLtMatmulHeuristicResult_t& result) {
      return result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= descriptor.workspace;
    });
    if (best == end) {
      const bool is_plain = descriptor.epilogue == Epilogue::none;
      throw Error(is_plain ? "a product" : "a product with an epilogue", "an algorithm of cuBLASLt",
                  "none for " + description(descriptor), is_plain ? "" : "write Epilogue<Separate>");
    }
    made.algorithm = best->algo;
    return made;
  }
  /// The factors are the host's, which a graph keeps: they never change for one product of a step. C has D's layout.
  void multiply(const Product& product, const std::byte* a, const std::byte* b, std::byte* scratch, double beta,
                std::byte* d, Stream stream, const std::byte* bias = nullptr, std::byte* aux = nullptr,
                const std::byte* c = nullptr) {
    if (reads_bias(product.descriptor.epilogue)) set(product.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (has_aux(product.descriptor.epilogue)) set(product.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
    const double wide_one = 1, wide_beta = beta;
    const float one = 1, narrow_beta = static_cast<float>(beta);
    const bool wide = product.descriptor.wide;
    detail::demand(
        cublasLtMatmul(handle_, product.operation.get(), wide ? static_cast<const void*>(&wide_one) : &one, a,
                       product.a.get(), b, product.b.get(), wide ? static_cast<const void*>(&wide_beta) : &narrow_beta,
                       c != nullptr ? c : d, product.d.get(), d, product.d.get(), &product.algorithm, scratch,
                       product.descriptor.workspace, stream),
        "cublasLtMatmul");
  }

#if defined(REGIMEN_HAS_CUDNN)
  Attention make_attention(const FusedAttention& attention) {
    if (cudnn_ == nullptr) cudnn_ = std::make_unique<cudnn::Handle>();
    return cudnn_->make(attention);
  }
  void attend(const Attention& plan, const FusedTensors& tensors, std::byte* scratch, Stream stream) {
    cudnn_->run(plan, tensors, scratch, stream);
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
  std::string describe() const { return numerics(); }

  /// What libraries, loaded kernels and graphs have taken so far of the device's memory, outside of allocate(): as the
  /// device says, so that what other programs take meanwhile is counted, too.
  std::size_t library_bytes() const {
    const std::size_t taken = unused_at_first_ - (std::min)(unused_at_first_, unused_memory());
    return taken - (std::min)(taken, allocated_);
  }

  /// While it lives, its device is the calling thread's.
  class [[nodiscard]] Scope final {
   public:
    /// Changes nothing if the device is the thread's: setting a device makes a context on it.
    explicit Scope(int device) {
      if (int now = 0; cudaGetDevice(&now) == cudaSuccess && now != device && cudaSetDevice(device) == cudaSuccess)
        before_ = now;
    }
    Scope(const Scope&) = delete;
    ~Scope() {
      if (before_ != unchanged) cudaSetDevice(before_);
    }

   private:
    static constexpr int unchanged = -1;
    int before_ = unchanged;
  };
  /// The device that was the constructing thread's.
  Scope scope() const { return Scope(device_); }

 private:
  /// More than 48 KiB of shared memory a block only by request.
  template <class Kernel>
  static void admit_shared(Grid grid) {
    if (grid.shared_bytes > 48 * 1024)
      detail::demand(cudaFuncSetAttribute(kernel::entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(grid.shared_bytes)),
                     detail::operation_name<Kernel>());
  }
  static void expect_device() {
    int devices = 0;
    detail::demand(cudaGetDeviceCount(&devices), "Device<Cuda>");
    if (devices == 0) detail::demand(cudaErrorNoDevice, "Device<Cuda>");
    cudaFuncAttributes attributes{};
    detail::demand(cudaFuncGetAttributes(&attributes, kernel::entry<detail::Probe>), "Device<Cuda>");
  }

  static std::string description(const ProductDescriptor& p) {
    const auto matrix = [](const char* name, const Layout& l) {
      return std::string(name) + " (" + std::to_string(l.rows) + "," + std::to_string(l.columns) +
             ") with a leading dimension of " + std::to_string(l.leading) + " at multiples of " +
             std::to_string(l.alignment) + " bytes";
    };
    return matrix("A", p.a) + (p.transpose_a ? ", transposed, " : ", ") + matrix("B", p.b) +
           (p.transpose_b ? ", transposed, " : ", ") + matrix("D", p.d);
  }
  template <class Value>
  static void set(const detail::HeldOperation& operation, cublasLtMatmulDescAttributes_t attribute,
                  const Value& value) {
    detail::demand(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
  }
  template <class Value>
  static void set(detail::HeldLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
    detail::demand(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
                   "cublasLtMatrixLayoutSetAttribute");
  }
  template <class Value>
  static void set(detail::HeldPreference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
                  const Value& value) {
    detail::demand(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
                   "cublasLtMatmulPreferenceSetAttribute");
  }
  static void describe_layout(detail::HeldLayout& made, const Layout& layout) {
    detail::demand(cublasLtMatrixLayoutCreate(made.put(), detail::library_type(layout.type), layout.rows,
                                              layout.columns, layout.leading),
                   "cublasLtMatrixLayoutCreate");
    if (layout.count == 1) return;
    set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout.count);
    set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout.stride);
  }

  std::size_t unused_at_first_ = 0, allocated_ = 0;  // bytes
  int device_ = 0;
  cublasLtHandle_t handle_ = nullptr;
  std::vector<void*> allocations_, pinned_;
#if defined(REGIMEN_HAS_CUDNN)
  std::unique_ptr<cudnn::Handle> cudnn_{};
#endif
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<Graph> graphs_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
