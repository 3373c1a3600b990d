// regimen/engine/cuda/engine.hpp — the engine of a GPU: kernels and library products on a stream, steps as graphs.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/flags.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/attention.hpp>
#include <regimen/engine/cuda/convolution.hpp>
#include <regimen/engine/cuda/copies.hpp>
#include <regimen/engine/cuda/graphs.hpp>
#include <regimen/engine/cuda/product.hpp>
#include <regimen/engine/cuda/ranges.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/engine/cuda/transport.hpp>
#include <regimen/engine/cuda/words.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/engine/hash.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/library.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::cuda {

/// Queues operations on one stream of a device, in one allocation of exactly the plan's bytes. The host waits only in
/// Fence::wait. Products are prepared before anything runs, by prepare(). A piece of a step runs by calls once:
/// libraries load their kernels then, which a capture may not allow. The second time it is captured as a graph, and
/// from then on the graph is launched.
///
///   R         the CUDA runtime, or its emulation
///   Choices   the policies that decide how operations are executed
///
/// refuses   an operation without a Kernel does not compile; so do ranks that the runtime cannot connect
template <Runtime R, class Choices = engines::DefaultChoices>
class Engine : public engines::EveryIteration {
 public:
  using Traits = cuda::Traits<R::workspace, 0, Choices, R::has_cudnn, requires { &R::connect; }>;
  using Transport = cuda::Transport<R, typename Choices::communicator>;
  using Ranks = comm::Control;
  struct Fence {
    Engine* engine = nullptr;
    std::uint64_t copy = 0;
    void wait() const {
      if (engine != nullptr) engine->copies_.finish(copy);
    }
  };

  op::Phase phase = op::Phase::forward;

  explicit Engine(const engines::Resources<Ranks>& resources)
      : transport_(runtime_, stream_, resources.ranks),
        host_copies_(runtime_, stream_, resources.host_bytes),
        captures_(resources.captures),
        waits_(resources.waits) {
    regimen::detail::expect_same_flags(regimen::detail::host_flags_of_files);
    done_ = runtime_.make_event();
    base_ = runtime_.allocate(resources.bytes, "the arena");
    if (resources.bytes > 0) runtime_.fill(base_, 0, resources.bytes, stream_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Before anything is allocated: an Error that is the plan's table, if the device's free memory does not hold the
  /// plan, or those of all ranks that share it.
  template <class Plan>
  static void expect_room(const Plan& plan, Ranks* ranks) {
    if constexpr (requires { R::unused_memory(); }) {
      const auto [unused, needed] = Transport::room({R::unused_memory(), plan.peak}, ranks);
      if (needed > unused) fail_for_room(unused, needed, plan, ranks == nullptr ? 1 : ranks->size());
    }
  }

  static void take_device(Ranks& ranks)
    requires requires { Transport::take_device(ranks); }
  {
    Transport::take_device(ranks);
  }

  template <class Operation>
  void run(const Operation& operation, std::size_t scratch = View<char>::absent) {
    begin();
    try {
      launch(operation, scratch);
      end();
    } catch (...) { fail(Operation::name); }
  }
  /// The layer of the operations that follow, for errors and profilers.
  void name_layer(const LayerPath& path) { layer_ = path; }

  /// body() runs operations that will run later. Nothing is queued: products get their descriptors and algorithms, and
  /// kernels are loaded, which a capture does not allow. An Error names the operation that the device cannot do.
  void prepare(auto&& body) {
    struct Restorer {
      bool& prepares;
      const bool before;
      ~Restorer() { prepares = before; }
    } const restorer{prepares_, std::exchange(prepares_, true)};
    body();
  }

  // ---- collectives: on a stream of their own, in the order of their starts

  std::size_t all_gather(const engines::Transfer& transfer) {
    return send(transfer.small ? comm::CollectiveKind::AllGatherSmall : comm::CollectiveKind::AllGather, transfer);
  }
  std::size_t reduce_scatter(const engines::Transfer& transfer) {
    return send(comm::CollectiveKind::ReduceScatter, transfer);
  }
  void await(std::size_t ticket) {
    if (prepares_) return;
    transport_.await(ticket);
    if (waits_) transport_.finish(ticket);
  }
  // ---- the host's memory

  std::size_t offload(const engines::HostCopy& copy) { return move(copy, true); }
  std::size_t fetch(const engines::HostCopy& copy) { return move(copy, false); }
  void await_copy(std::size_t ticket) {
    if (!prepares_) host_copies_.await(ticket);
  }

  /// Before the host waits for other hosts, which may wait for this device: a GPU works meanwhile; an emulated one
  /// works only when its host calls it.
  void host_waits_elsewhere() {
    if constexpr (requires { runtime_.work_on(); }) runtime_.work_on();
  }
  /// Ends what is queued, whose results are then undefined; this rank has left the others.
  void abort_ranks() { transport_.abort(); }
  /// Waits for what is queued. No collectives from now on.
  void leave_ranks() { transport_.close(); }

  // ---- the host

  Fence upload(std::size_t at, std::span<const std::byte> from) {
    ranges_.close();
    return fence_of(copies_.upload(base_ + at, from), "a copy to the device", from.size());
  }
  Fence download(std::size_t at, std::span<std::byte> to) {
    ranges_.close();
    return fence_of(copies_.download(base_ + at, to), "a copy from the device", to.size());
  }
  std::uint64_t hash(std::size_t at, std::size_t bytes) {
    std::vector<std::byte> copy(bytes);
    download(at, copy).wait();
    return engines::hash_of_bytes(copy, [](std::size_t chunks, const auto& body) {
      for (std::size_t i = 0; i < chunks; ++i) body(i);
    });
  }

  template <class Write>
  void feed(std::size_t slot, std::size_t at, std::size_t bytes, const Write& write) {
    (void)fence_of(copies_.feed(slot, base_ + at, bytes, write), of_inputs, bytes);
  }
  std::byte* pin(std::size_t bytes) { return runtime_.allocate_pinned(bytes, "batches that are read ahead"); }
  Fence feed_pinned(std::size_t slot, std::size_t at, std::span<const std::byte> from) {
    return fence_of(copies_.feed(slot, base_ + at, from), of_inputs, from.size());
  }

  void replay(const engines::Recording& key, auto&& body) {
    if (prepares_) return body();
    if (captures_ && (key.is_common || transport_.are_alone())) graphs_.replay(key, body);
    else body();
    ranges_.close();
    copies_.taken();
  }

  /// Graphs that were captured before do not poison, so they are captured again.
  void poison_dead() { graphs_.clear(); }
  void dies(std::size_t offset, std::size_t bytes) {
    if (bytes > 0 && !prepares_) runtime_.forget(base_ + offset, bytes, stream_);
  }
  void lives(std::size_t offset, std::size_t bytes) {
    if (bytes > 0 && !prepares_) runtime_.remember(base_ + offset, bytes, stream_);
  }

  std::size_t operations() const { return graphs_.operations(); }
  /// Bytes of the device that libraries and kernels have taken, outside of the arena.
  std::size_t library_bytes() const
    requires requires(const R& runtime) { runtime.library_bytes(); }
  {
    return runtime_.library_bytes();
  }
  auto scope() const { return runtime_.scope(); }
  template <class Compute>
  static std::string numerics() {
    return R::numerics() + words_of_numerics<Traits, Compute>() + versions();
  }
  template <class Compute>
  std::string description() const {
    return runtime_.describe() + (captures_ ? ", graphs" : ", no graphs") + versions();
  }

 private:
  /// What GPUs that work together must have in common, besides themselves.
  static std::string versions() {
    if constexpr (connects_gpus<typename Choices::communicator::ranks>) return ", " + R::versions();
    else return {};
  }

  // ---- operations

  /// What an operation's run is around its launches: once for all operations, as these are many.
  [[gnu::noinline]] void begin() {
    if (prepares_) return;
    graphs_.count();
    ranges_.enter(phase, layer_);
  }
  [[gnu::noinline]] void end() {
    if (prepares_ || !waits_) return;
    runtime_.record(done_, stream_);
    transport_.synchronize(done_);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const char* operation) {
    if (!prepares_) ranges_.close();
    fail_again(operation, phase, layer_, waits_);
  }

  template <class Operation>
  void launch(const Operation& operation, std::size_t scratch) {
    launch_kernels(operation, scratch);
  }
  template <class Operation>
  void launch_kernels(const Operation& operation, std::size_t scratch) {
    static_assert(HasKernel<Operation>,
                  "regimen: this operation has no Kernel for a GPU; specialise regimen::kernel::Kernel for it");
    if constexpr (HasKernel<Operation>)
      kernel::for_each_launch(operation, {base_, scratch}, [&]<class K>(const K& made) {
        const Grid grid{.blocks = made.blocks(), .threads = K::threads, .shared_bytes = kernel::shared_bytes<K>};
        if (prepares_) runtime_.prepare(made, grid);
        else runtime_.launch(made, grid, stream_);
      });
  }
  template <class A, class B, class C>
  void launch(const op::Product<A, B, C>& o, std::size_t scratch) {
    if (o.m * o.n == 0) return;
    if (o.k > 0) launch_product(o, o, scratch);
    else if (!o.add && !prepares_) runtime_.fill(base_ + o.c.offset, 0, o.m * o.row_of_c() * sizeof(C), stream_);
  }
  template <IsProduct Operation>
  void launch(const Operation& o, std::size_t scratch) {
    if (const auto& p = o.product; p.m * p.n > 0) launch_product(o, p, scratch);
  }
  /// Tensor cores take factors of one type, in rows of whole 16 bytes: the wider of two (the gradient of the model's
  /// output) is first copied to the narrower type, and to such rows.   whole   o, or o with an epilogue
  template <class Operation, class A, class B, class C>
  void launch_product(const Operation& whole, const op::Product<A, B, C>& o, std::size_t scratch) {
    const auto place = [&](View<C> view) { return view.is_absent() ? nullptr : base_ + view.offset; };
    ProductTensors tensors;
    if constexpr (requires { whole.bias; }) tensors.bias = place(whole.bias);
    if constexpr (requires { whole.x; }) tensors.aux = place(whole.x);
    if constexpr (requires { whole.onto; }) tensors.c = place(whole.onto);
    const auto start = [&](ProductDescriptor descriptor, const auto& factors, std::size_t workspace) {
      describe_epilogue(whole, descriptor);
      multiply(descriptor, factors, workspace, o.add || tensors.c != nullptr ? 1.0 : 0.0, tensors);
    };
    if constexpr (std::is_same_v<A, B>) {
      start(describe(o, R::workspace), o, scratch);
    } else {
      constexpr bool a_is_wider = sizeof(A) > sizeof(B);
      using Wide = std::conditional_t<a_is_wider, A, B>;
      using T = std::conditional_t<a_is_wider, B, A>;
      const auto [rows, columns, from_leading, leading, bytes] = Traits::rounded(o);
      const View<Wide> wide{a_is_wider ? o.a.offset : o.b.offset};
      if (leading == columns && from_leading == columns)
        launch(op::Cast<Wide, T>{.x = wide, .y = {scratch}, .count = rows * columns}, scratch);
      else
        launch_kernels(kernel::PadRows<Wide, T>{.x = wide,
                                                .y = {scratch},
                                                .rows = rows,
                                                .columns = columns,
                                                .leading = leading,
                                                .from_leading = from_leading},
                       scratch);
      const op::Product<T, T, C> narrow = narrowed<T>(o, scratch, leading);
      ProductDescriptor descriptor = describe(narrow, R::workspace);
      if (!a_is_wider) descriptor.a.leading = static_cast<std::int64_t>(leading);  // A is our b
      start(descriptor, narrow, scratch + bytes);
    }
  }
  template <class A, class B, class C>
  void launch(const ManyProducts<A, B, C>& o, std::size_t scratch) {
    multiply(describe(o, R::workspace), o, scratch, 0.0);
  }
  /// o.c = o.a · o.b + beta · c, and its epilogue; the library's A is our b.   t   has bias, aux and c
  template <class Factors>
  void multiply(const ProductDescriptor& whole, const Factors& o, std::size_t scratch, double beta,
                ProductTensors t = {}) {
    const std::byte* const c = t.c;
    for_each_part({.descriptor = whole}, R::cut_flops, [&](const ProductPart& part) {
      const typename R::Product& product =
          products_.found_or_made(part.descriptor, [&] { return runtime_.make_product(part.descriptor); });
      t.a = base_ + o.b.offset + part.a, t.b = base_ + o.a.offset + part.b, t.d = base_ + o.c.offset + part.d;
      t.c = part.adds || c == nullptr ? nullptr : c + part.d;
      if (!prepares_) runtime_.multiply(product, t, part.adds ? 1.0 : beta, base_ + scratch, stream_);
    });
  }
  template <ComposesParts Operation>
  void launch(const Operation& o, std::size_t scratch) {
    if constexpr (Traits::template may_fuse<Operation>)
      if (Traits::is_fused(o)) return attend_fused(o, scratch);
    if constexpr (Traits::composes_attention)
      for_each_part(o, Traits::composed(o), scratch,
                    [&](const auto& part, std::size_t part_scratch) { launch(part, part_scratch); });
    else launch_kernels(o, scratch);
  }
  /// With dropout the library draws its own random numbers, from a seed that lies at the begin of scratch.
  template <class Operation>
  void attend_fused(const Operation& o, std::size_t scratch) {
    if (o.shape.batch == 0) return;
    const FusedAttention descriptor = fused(o, R::workspace);
    const typename R::Attention& attention =
        attentions_.found_or_made(descriptor, [&] { return runtime_.make_attention(descriptor); });
    FusedTensors tensors{.qkv = base_ + o.qkv.offset, .y = base_ + o.y.offset, .log_sum = base_ + o.softmax.offset};
    if constexpr (requires { o.d_y; }) {
      tensors.d_y = base_ + o.d_y.offset;
      tensors.d_qkv = base_ + o.d_qkv.offset;
      tensors.row_dot = base_ + o.row_dot.offset;
    }
    if (o.drop.threshold > 0) {
      launch_kernels(kernel::LibraryRandom{.drop = o.drop, .to = {scratch}}, scratch);
      tensors.random = base_ + scratch;
    }
    if (!prepares_) runtime_.attend(attention, tensors, base_ + scratch + random_bytes(o.drop), stream_);
  }

  template <Convolves Operation>
  void launch(const Operation& o, std::size_t scratch) {
    if constexpr (!Traits::calls_convolutions) launch_kernels(o, scratch);
    else {
      if (o.shape.samples > 0) {
        ConvolutionCall call = convolution(o, scratch);
        call.descriptor.workspace = R::workspace;
        const auto& made =
            convolutions_.found_or_made(call.descriptor, [&] { return runtime_.make_convolution(call.descriptor); });
        const ConvolutionTensors tensors{base_ + call.x, base_ + call.weight, base_ + call.y};
        if (!prepares_) runtime_.convolve(made, tensors, base_ + scratch + rounded_gradient_bytes(o), stream_);
      }
      launch_rest(o, scratch, [&](const auto& part) { launch_kernels(part, scratch); });
    }
  }

  static constexpr const char* of_inputs = "a copy of inputs to the device";
  Fence fence_of(std::uint64_t copy, const char* what, std::size_t bytes) {
    finish_if_waiting(what, bytes, [&] { copies_.finish(copy); });
    return {this, copy};
  }
  std::size_t move(const engines::HostCopy& copy, bool to_host) {
    if (prepares_) return 0;
    const std::size_t ticket = host_copies_.move(base_ + copy.at, copy.host, copy.bytes, to_host);
    finish_if_waiting(to_host ? "a copy of saved tensors to the host" : "a copy of saved tensors from the host",
                      copy.bytes, [&] { transport_.synchronize(host_copies_.copied(ticket)); });
    return ticket;
  }
  /// Waits for the end of a copy. Every operation before was waited for, so an error is the copy's.
  void finish_if_waiting(const char* what, std::size_t bytes, const auto& finish) {
    if (!waits_ || bytes == 0) return;
    try {
      finish();
    } catch (const Error& error) {
      throw Error(std::string(what) + ", of " + std::to_string(bytes) + " bytes", "its end without an error",
                  error.what());
    }
  }
  std::size_t send(comm::CollectiveKind kind, const engines::Transfer& transfer) {
    if (!prepares_) {
      const auto range = ranges_.of_collective(kind, transfer.path);
      return transport_.send(kind, transfer, base_);
    }
    transport_.prepare(transfer);
    return 0;
  }

  R runtime_{};
  Ranges<R> ranges_{runtime_};
  typename R::Stream stream_ = runtime_.make_stream();
  Copies<R, Transport> copies_{runtime_, stream_, transport_};
  Graphs<R, Transport> graphs_{runtime_, ranges_, stream_, transport_};
  Transport transport_;
  HostCopies<R> host_copies_;
  std::byte* base_ = nullptr;
  bool captures_, waits_, prepares_ = false;
  typename R::Event done_{};  // of a single operation
  LayerPath layer_{};
  Preparations<ProductDescriptor, typename R::Product> products_;
  Preparations<FusedAttention, typename R::Attention> attentions_;
  Preparations<ConvolutionDescriptor, typename R::Convolution> convolutions_;
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
