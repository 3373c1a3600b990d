// regimen/engine/cuda/runtime.hpp — what the CUDA engine needs of a device: the CUDA runtime and cuBLASLt, or their
// emulation.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/convolution.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace regimen::cuda {

/// How a kernel is spread over a device.
struct Grid {
  unsigned blocks = 1, threads = 32;
  std::size_t shared_bytes = 0;  // of each block
};

/// Matrices in the terms of cuBLASLt: column-major, `leading` elements from column to column, and `stride` from one of
/// the `count` matrices to the next. The first begins at a multiple of `alignment` bytes, at most 256.
struct Layout {
  ElementType type = ElementType::float32;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, stride = 0;
  std::int32_t count = 1;
  std::uint32_t alignment = 256;

  bool operator==(const Layout&) const = default;
};

/// The library's epilogues, each with its name there. `aux` (rows of D, columns of D), of D's type.
///   gelu_bias       D = gelu(sum + bias), by tanh
///   gelu_aux_bias   the same; writes sum + bias to aux
///   dgelu           D = sum · gelu'(aux)
enum class Epilogue : unsigned char { none, bias, gelu_bias, gelu_aux_bias, dgelu };

constexpr bool reads_bias(Epilogue epilogue) {
  return epilogue == Epilogue::bias || epilogue == Epilogue::gelu_bias || epilogue == Epilogue::gelu_aux_bias;
}
constexpr bool has_aux(Epilogue epilogue) { return epilogue == Epilogue::gelu_aux_bias || epilogue == Epilogue::dgelu; }

/// The descriptors of D = op(A) · op(B) + beta · C in the terms of cuBLASLt, with an epilogue before it is rounded; of
/// as many products as A, B and D have matrices. C is D, or lies elsewhere in D's layout.
///   wide         sums in fp64; otherwise in fp32
///   reads_tf32   A and B, in fp32, are read as tf32; never without this
///   bias_alignment, aux_alignment   the bias (D's type, one for each row of D) and aux begin at multiples of so many
///                                   bytes
///   aux_leading                     elements of aux from column to column
///   c_alignment                     where C lies elsewhere: at a multiple of so many bytes; else 0
struct ProductDescriptor {
  Layout a{}, b{}, d{};
  bool transpose_a = false, transpose_b = false, wide = false, reads_tf32 = false;
  Epilogue epilogue = Epilogue::none;
  std::uint32_t bias_alignment = 0, aux_alignment = 0, c_alignment = 0;
  std::int64_t aux_leading = 0;
  std::size_t workspace = 0;

  bool operator==(const ProductDescriptor&) const = default;
};
/// Its tensors: d = op(a) · op(b) + beta · c, and the epilogue. bias, aux and c are there where the descriptor has
/// them; without c, d is read in its place.
struct ProductTensors {
  const std::byte *a = nullptr, *b = nullptr;
  std::byte* d = nullptr;
  const std::byte* bias = nullptr;
  std::byte* aux = nullptr;
  const std::byte* c = nullptr;
};

/// Products of at least so many flops are cut into parts on GPUs, where that helps: below, a launch more costs as much.
inline constexpr double library_cut_flops = 0x1p33;

/// Attention by one fused kernel of the library: softmax(q kᵀ / √D) v of q, k, v side by side, (B,T,3,H,D).
///   backward    the gradient, with sums in a fixed order
///   threshold   weights are dropped at the rate threshold / 65536, after softmax; the others are divided by the rest
///   workspace   bytes that it may use
struct FusedAttention {
  ElementType type = ElementType::bfloat16;
  std::int64_t batch = 0, length = 0, heads = 0, width = 0;
  bool causal = false, backward = false;
  std::uint32_t threshold = 0;
  std::size_t workspace = 0;
  bool is_scaled = true;  // scores are q kᵀ / √D; false: q kᵀ

  bool operator==(const FusedAttention&) const = default;
};
/// Its tensors. A forward pass has the first three, of which it writes y and log_sum.
///   random   with dropout: two int64, the seed and the offset of the library's random numbers
struct FusedTensors {
  const std::byte* qkv = nullptr;
  std::byte *y = nullptr, *log_sum = nullptr;
  const std::byte* d_y = nullptr;
  std::byte *d_qkv = nullptr, *row_dot = nullptr;
  const std::byte* random = nullptr;
};

/// A convolution of the library, or one of its gradients, of tensors that lie as op::Convolution says; with sums in at
/// least fp32, in a fixed order.
///   type        of x, y and the weight, or of their gradients
///   add         the gradient of the weight is added to what is there
///   workspace   bytes that it may use
struct ConvolutionDescriptor {
  enum class Pass : unsigned char { forward, input, weight };
  Pass pass = Pass::forward;
  ElementType type = ElementType::float32;
  op::Convolution shape{};
  bool add = false;
  std::size_t workspace = 0;

  bool operator==(const ConvolutionDescriptor&) const = default;
};
/// Its tensors. A pass writes the one by whose gradient, or by forward, it is named: y, x or the weight.
struct ConvolutionTensors {
  std::byte *x = nullptr, *weight = nullptr, *y = nullptr;
};

/// A collective of the library that connects GPUs.
///   kind       AllGather, AllGatherSmall (a few numbers) or ReduceScatter
///   bytes      of a slice: what each rank gives or gets
///   element    the type that ReduceScatter sums
struct Collective {
  comm::CollectiveKind kind = comm::CollectiveKind::AllGather;
  ElementType element = ElementType::float32;
  std::size_t bytes = 0;

  std::size_t count() const { return bytes / bytes_of(element); }
};

/// Stands for any kernel in the concept below.
struct AnyKernel {
  template <class Block>
  void operator()(const Block&) const {}
};

/// Memory, queues, order and graphs of one device. There is no default stream, no blocking copy, no copy from pageable
/// memory, and no synchronisation of the whole device, on purpose: what is queued may run at any moment that streams
/// and events allow.
///
///   allocate(bytes, name)    256-byte aligned; never during a capture. Lives as long as the runtime
///   upload, download         between the device and pinned memory, which is read or written when the copy runs
///   fill(at, byte, bytes)    sets bytes
///   prepare(kernel, grid)    loads the kernel's code, before a capture that launches it
///   launch(kernel, grid)     copies the kernel's members in the call
///   make_lasting_event()     one that may be waited for, also by another runtime of the device, after this one has
///                            ended
///   record, wait(stream, e)  order queues; never block the host
///   synchronize(event)       the host waits; throws what went wrong before
///   begin_capture            of this stream, and of all that wait for its events
///   destroy(graph)           of which no launch runs any more
///   make_product             a product that is prepared: descriptors and the chosen algorithm. Not during a capture
///   multiply(product, tensors, beta, scratch, stream)
///   open_range(name), close_range()
///                            optional: for profilers, the calls between them belong together. Ranges nest
///   scope()                  while it lives, calls of this thread are for this device
///   library_bytes()          optional: what libraries and kernels have taken of the device's memory
///   copy(to, from, bytes, stream)
///                            within the device
///   device()                 its number
///   take_device(place)       optional, with what follows: makes the device for the rank at this place on its host the
///                            calling thread's
///   make_id()                what ranks that connect to each other have in common: one of them makes it for all
///   connect(id, rank, size)  a Connection of these ranks; returns before it exists
///   is_ready(connection)     whether what was asked of it last was done, or queued; an Error says why it never will be
///   collect(connection, collective, own, all, stream)
///                            queues a collective, also in a capture. `all` has a slice for each rank, in their order;
///                            `own` is this rank's, or, to gather, lies elsewhere. All ranks call it in the same order
///   abort(connection)        what was queued ends soon, its results undefined; nothing more can be asked of it
///   versions()               of the libraries, which must be the same on all ranks
///   has_cudnn                whether it offers make_attention and attend, make_convolution and convolve, which are
///                            like these two
///   forget(at, bytes)        for tests: what lies here is dead from here on; remember: it lives again
template <class R>
concept Runtime = requires(R& runtime, typename R::Stream stream, typename R::Event event, typename R::Graph graph,
                           std::byte* device, std::byte* host, const std::byte* from, std::size_t bytes, Grid grid,
                           AnyKernel kernel, const ProductDescriptor& descriptor, typename R::Product& product) {
  { runtime.allocate(bytes, "name") } -> std::same_as<std::byte*>;
  { runtime.allocate_pinned(bytes, "name") } -> std::same_as<std::byte*>;
  { runtime.make_stream() } -> std::same_as<typename R::Stream>;
  { runtime.make_event() } -> std::same_as<typename R::Event>;
  { runtime.make_lasting_event() } -> std::same_as<typename R::Event>;
  runtime.upload(device, from, bytes, stream);
  runtime.download(host, from, bytes, stream);
  runtime.fill(device, 0, bytes, stream);
  runtime.copy(device, from, bytes, stream);
  { runtime.device() } -> std::convertible_to<std::size_t>;
  runtime.prepare(kernel, grid);
  runtime.launch(kernel, grid, stream);
  runtime.record(event, stream);
  runtime.wait(stream, event);
  runtime.synchronize(event);
  { runtime.is_done(event) } -> std::same_as<bool>;
  runtime.begin_capture(stream);
  { runtime.end_capture(stream) } -> std::same_as<typename R::Graph>;
  runtime.launch(graph, stream);
  runtime.destroy(graph);
  { runtime.make_product(descriptor) } -> std::same_as<typename R::Product>;
  runtime.multiply(product, {}, 0.0, device, stream);
  runtime.forget(device, bytes, stream);
  runtime.remember(device, bytes, stream);
  { R::workspace } -> std::convertible_to<std::size_t>;
  { R::cut_flops } -> std::convertible_to<double>;
  { R::has_cudnn } -> std::convertible_to<bool>;
  { R::numerics() } -> std::convertible_to<std::string>;
  { runtime.describe() } -> std::convertible_to<std::string>;
  runtime.scope();
};

/// What a runtime prepares once and runs many times: products, attentions or convolutions, by their descriptors.
/// References stay valid.
template <class Descriptor, class Made>
class Preparations final {
 public:
  template <class Make>
  const Made& found_or_made(const Descriptor& descriptor, const Make& make) {
    for (const auto& [known, made] : all_)
      if (known == descriptor) return made;
    all_.emplace_back(descriptor, make());
    return all_.back().second;
  }

 private:
  std::deque<std::pair<Descriptor, Made>> all_;
};

namespace detail {

/// The name of a kernel's operation.
template <class Kernel>
constexpr const char* operation_name() {
  if constexpr (requires { decltype(Kernel::o)::name; }) return decltype(Kernel::o)::name;
  else return "a kernel";
}

}  // namespace detail

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
