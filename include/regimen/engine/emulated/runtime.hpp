// regimen/engine/emulated/runtime.hpp — a device on the host: late, unfair and strict.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/flags.hpp>
#include <regimen/engine/cpu/flags.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/emulated/compiled.hpp>
#include <regimen/engine/emulated/connection.hpp>
#include <regimen/engine/emulated/cudnn.hpp>
#include <regimen/engine/emulated/host_pointers.hpp>
#include <regimen/engine/emulated/memory.hpp>
#include <regimen/engine/emulated/product.hpp>
#include <regimen/engine/emulated/queues.hpp>
#include <regimen/kernel/block.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::emulated {

/// How the device of an engine behaves.
///   seed      decides when work runs, and in which order the threads of a block
///   fibers    every kernel by blocks of as many threads as on a GPU, with checked barriers; otherwise by one thread a
///             block, which is a hundred times faster and adds in another order
///   memory    bytes of the device
///   patience  how long a collective waits for the other ranks; NCCL's waits until it is aborted
///   alignment products must promise that their matrices begin at multiples of so many bytes; the library demands none
struct Options {
  std::uint64_t seed = 1;
  bool fibers = false;
  std::size_t memory = std::size_t{4} << 30;
  std::uint32_t alignment = 1;
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

/// A cuda::Runtime without a GPU: what CUDA, cuBLASLt, cuDNN and NCCL would do, and what they forbid, as an Error that
/// names its code. An Error of queued work loses the device: every later call throws.
///
/// thread safety   none: one thread at a time; another thread may use another runtime of the same device
class Runtime : public Queues {
 public:
  using Product = cuda::ProductDescriptor;
  using Attention = cuda::FusedAttention;
  using Convolution = cuda::ConvolutionDescriptor;
  using Connection = emulated::Connection;
  using Id = emulated::Id;

  static constexpr bool has_cudnn = true;
  /// Bytes that a product's workspace has; the library writes junk there.
  static constexpr std::size_t workspace = 1024;
  /// Small, so that tests have parts.
  static constexpr double cut_flops = 1000;
  /// Of a device with the limits of sm_90.
  static constexpr unsigned most_blocks = 0x7FFF'FFFF;

  /// The options of runtimes that engines make from now on.
  static inline Options defaults{};

  Runtime() : Runtime(defaults) {}
  explicit Runtime(const Options& options)
      : Queues(options.seed, options.memory), options_(options), pinned_(options.memory / 4, false) {
    regimen::detail::expect_same_flags(cpu::kernel_flags_of_files);
  }
  /// What others share lives on, but nothing that was queued here, or that uses memory of this one.
  ~Runtime() {
    if (!is_shared()) return;
    const auto lock = alone();
    destroy_events();
    try {
      if (!lost_) finish_all();
      for (const std::byte* const at : allocated_) device_.release(at);
    } catch (const Error&) {  // the device is lost
    }
  }

  // ---- memory

  /// Free bytes of a device that is made now.
  static std::size_t unused_memory() { return defaults.memory; }
  std::byte* allocate(std::size_t bytes, const char* name) {
    const auto lock = alone_outside_captures("cudaMalloc");
    std::byte* const at = device_.allocate(bytes, name);
    allocated_.push_back(at);
    return at;
  }
  void release(const std::byte* at) {
    const auto lock = alone_outside_captures("cudaFree");
    if (!lost_) finish_all();
    device_.release(at);
    std::erase(allocated_, at);
  }
  std::byte* allocate_pinned(std::size_t bytes, const char* name) {
    const auto lock = alone_outside_captures("cudaMallocHost");
    return pinned_.allocate(bytes, name);
  }
  void release_pinned(const std::byte* at) {
    const auto lock = alone_outside_captures("cudaFreeHost");
    if (!lost_) finish_all();
    pinned_.release(at);
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
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
    demand(device_, to, bytes, "the target of a copy");
    demand(device_, from, bytes, "the source of a copy");
    enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  template <class Kernel>
  void prepare(const Kernel&, cuda::Grid grid) {
    const auto lock = alone_outside_captures("loading a kernel");
    check_grid(grid);
    loaded_.insert(&identity_of<Kernel>);
  }
  /// Outside of a capture it loads the kernel, too.
  template <class Kernel>
  void launch(const Kernel& kernel, cuda::Grid grid, Stream stream) {
    static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 32764,
                  "regimen: a kernel is a small struct of plain members");
    static_assert(alignof(Kernel) <= alignof(KernelPart),
                  "regimen: a kernel's members are aligned to 16 bytes at most; remove their alignas");
    const auto lock = alone();
    check_grid(grid);
    if (loaded_.insert(&identity_of<Kernel>).second) refuse_in_capture("loading a kernel");
    if constexpr (std::is_same_v<Kernel, cuda::AnyKernel>) {
      enqueue(stream, {});
    } else {
      const auto is_allowed = [&](const void* at) { return device_.owns(at) || pinned_.owns(at); };
      if (host_pointers_.are_in(kernel, is_allowed))
        refuse("a launch (cudaErrorIllegalAddress)", "a kernel with addresses of the device", "one of the host's");
      enqueue_kernel(stream, runner_of<Kernel>(), &kernel, sizeof kernel);
    }
  }

  Product make_product(const cuda::ProductDescriptor& descriptor) {
    const auto lock = alone_outside_captures("cublasLtMatmulAlgoGetHeuristic");
    check_product(descriptor);
    check_promises(descriptor, options_.alignment);
    return descriptor;
  }
  void multiply(const Product& p, const cuda::ProductTensors& tensors, double beta, std::byte* scratch, Stream stream) {
    check_c(p, tensors, beta);
    for_each_matrix(p, tensors, [&](const cuda::Layout& l, const std::byte* at, const char* name) {
      demand(device_, at, detail::bytes_of_matrix(l), name);
      check_address(l, at, name);
    });
    if (p.workspace > 0) demand(device_, scratch, p.workspace, "the library's workspace");
    if (reinterpret_cast<std::uintptr_t>(scratch) % 256 != 0)
      refuse("the library's workspace", "a multiple of 256 bytes", "another address");
    enqueue(stream, [=] {
      if (p.workspace > 0) std::memset(scratch, 0xFF, p.workspace);
      emulated::multiply(p, tensors, beta);
    });
  }

  Attention make_attention(const cuda::FusedAttention& attention) { return accepted_by_cudnn(attention); }
  void attend(const Attention& attention, const cuda::FusedTensors& tensors, std::byte* scratch, Stream stream) {
    run_cudnn(attention, tensors, scratch, stream);
  }
  Convolution make_convolution(const cuda::ConvolutionDescriptor& convolution) {
    return accepted_by_cudnn(convolution);
  }
  void convolve(const Convolution& convolution, const cuda::ConvolutionTensors& tensors, std::byte* scratch,
                Stream stream) {
    run_cudnn(convolution, tensors, scratch, stream);
  }

  using Queues::launch;  // of a graph

  // ---- ranks

  static constexpr bool ranks_are_threads = true;
  /// Each rank of a host has a device of its own.
  static void take_device(std::size_t place) { current = place; }
  /// A number for a device that several runtimes will share: those that threads make after share_device(number).
  static std::size_t new_device() {
    static std::atomic<std::size_t> last{detail::Device::first_shared};
    return last++;
  }
  static void share_device(std::size_t number) { current = number; }
  static Id make_id() {
    static std::atomic<std::uint64_t> last{0};
    Id id{};
    const std::uint64_t number = ++last;
    std::memcpy(id.data(), &number, sizeof number);
    return id;
  }
  Connection connect(const Id& id, std::size_t rank, std::size_t size) {
    const auto lock = alone_outside_captures("ncclCommInitRankConfig");
    return Connection(id, rank, size, options_.seed, options_.patience);
  }
  bool is_ready(Connection& connection) { return connection.is_ready(); }
  void collect(Connection& connection, const cuda::Collective& collective, const std::byte* own, std::byte* all,
               Stream stream) {
    connection.check(collective, own, all);
    demand(device_, own, collective.bytes, "this rank's slice of a collective");
    demand(device_, all, collective.bytes * connection.size(), "the slices of a collective");
    enqueue(stream,
            [=, graph = capture_of(stream), work = connection.work()] { work->run(collective, own, all, graph); });
  }
  void abort(Connection& connection) { connection.abort(); }
  static std::string versions() { return "emulated NCCL"; }

  // ---- for tests

  void forget(std::byte* at, std::size_t bytes, Stream stream) {
    demand(device_, at, bytes, "what is forgotten");
    enqueue(stream, [=] {
      std::memset(at, 0xFF, bytes);
      detail::forbid(at, bytes);
    });
  }
  void remember(std::byte* at, std::size_t bytes, Stream stream) {
    enqueue(stream, [=] { detail::permit(at, bytes); });
  }
  static std::string numerics() { return "emulated device"; }
  std::string describe() const {
    return std::string("emulated device, ") + (options_.fibers ? "blocks of fibers" : "serial blocks");
  }

 private:
  template <class Descriptor>
  const Descriptor& accepted_by_cudnn(const Descriptor& descriptor) {
    const auto lock = alone_outside_captures("cudnnBackendFinalize");
    check(descriptor);
    return descriptor;
  }
  /// Tensors where descriptors promise them; the library writes junk to its workspace.
  template <class Descriptor, class Tensors>
  void run_cudnn(const Descriptor& descriptor, const Tensors& tensors, std::byte* scratch, Stream stream) {
    for_each_tensor(descriptor, tensors, [&](const std::byte* at, std::size_t bytes, const char* name) {
      demand(device_, at, bytes, name);
      if (reinterpret_cast<std::uintptr_t>(at) % 16 != 0) refuse(name, "a multiple of 16 bytes", "another address");
    });
    demand(device_, scratch, descriptor.workspace, "cuDNN's workspace");
    enqueue(stream, [=] {
      std::memset(scratch, 0xFF, descriptor.workspace);
      compute(descriptor, tensors);
    });
  }

  /// A copy of a kernel has the type of all such copies: the program has one function that queues them.
  struct alignas(16) KernelPart {
    std::byte bytes[16];
  };
  void enqueue_kernel(Stream stream, RunKernel run, const void* kernel, std::size_t bytes) {
    std::vector<KernelPart> copy((bytes + sizeof(KernelPart) - 1) / sizeof(KernelPart));
    std::memcpy(copy.data(), kernel, bytes);
    enqueue(stream, [this, run, copy = std::move(copy)] {
      if (!options_.fibers) return run(copy.data(), nullptr);
      if (!blocks_) blocks_ = std::make_unique<BlockRunner>();
      blocks_->set_order(static_cast<Order>(options_.seed % 3), options_.seed);
      run(copy.data(), blocks_.get());
    });
  }

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
  void demand(const Memory& memory, const void* at, std::size_t bytes, const char* what) const {
    const auto lock = alone();
    if (!memory.holds(at, bytes))
      throw Error(what, std::to_string(bytes) + " bytes of one allocation of the right kind (device, or pinned)",
                  memory.describe(at));
  }

  Options options_;
  Memory pinned_;
  std::vector<const std::byte*> allocated_;  // of the device's memory
  HostPointers host_pointers_;
  std::unique_ptr<BlockRunner> blocks_;
  std::set<const char*> loaded_;  // kernels, by their identities
};
static_assert(cuda::Runtime<Runtime>);

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
