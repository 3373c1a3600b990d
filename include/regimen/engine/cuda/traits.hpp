// regimen/engine/cuda/traits.hpp — the facts about the CUDA engine that a plan needs.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cuda/attention.hpp>
#include <regimen/engine/cuda/convolution.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>
#include <regimen/kernel/attention_bias.hpp>
#include <regimen/kernel/batch_norm.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/convolution.hpp>
#include <regimen/kernel/cross_entropy.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/embedding.hpp>
#include <regimen/kernel/group_norm.hpp>
#include <regimen/kernel/image.hpp>
#include <regimen/kernel/input.hpp>
#include <regimen/kernel/normalize.hpp>
#include <regimen/kernel/nt_xent.hpp>
#include <regimen/kernel/padding.hpp>
#include <regimen/kernel/positions.hpp>
#include <regimen/kernel/recurrent.hpp>
#include <regimen/kernel/sinusoids.hpp>
#include <regimen/kernel/softmax.hpp>
#include <regimen/kernel/step.hpp>
#include <regimen/kernel/update.hpp>
#include <regimen/policy/attention.hpp>
#include <regimen/policy/convolution.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::cuda {

/// Whether an operation has kernels.
template <class Operation>
concept HasKernel = requires { kernel::Kernel<Operation>::threads; };

/// The epilogues of cuBLASLt, as far as its documentation says what they compute. All with sums in fp32. GeluTanh is
/// the library's GELU; the tensor that passes from forward to backward has rows of 8 elements, or of multiples. The
/// library has none for Gelu (the error function) and Silu. Its RELU is max(x, 0), of which nothing says that it is NaN
/// where x is; a zero there would hide a NaN from all that looks for one, so Relu is a kernel's.
struct Epilogues final {
  static constexpr bool any = true, sums = true;
  template <class Activation, class T>
  static constexpr bool has(std::size_t columns) {
    return (std::is_same_v<Activation, activation::Identity> && !std::is_same_v<T, fp64>) ||
           has_backward<Activation, T>(columns);
  }
  template <class Activation, class T>
  static constexpr bool has_backward(std::size_t columns) {
    return std::is_same_v<Activation, activation::GeluTanh> && !std::is_same_v<T, fp64> && columns % 8 == 0;
  }
};

/// Bytes of workspace that the library's documentation recommends for Hopper.
inline constexpr std::size_t library_workspace = std::size_t{32} << 20;

/// Whether this file makes programs that run on a GPU: nvcc compiles it, or it links regimen::cuda_compiled.
#if defined(__CUDACC__) || defined(REGIMEN_CUDA_COMPILED)
inline constexpr bool runs_here = true;
#else
inline constexpr bool runs_here = false;
#endif
/// Whether a program that runs on a GPU has cuDNN; CMake's target regimen::cuda says so. One that only plans needs
/// none.
#if defined(REGIMEN_HAS_CUDNN)
inline constexpr bool has_cudnn = true;
#else
inline constexpr bool has_cudnn = !runs_here;
#endif
/// Whether a program that runs on a GPU has NCCL. regimen::cuda_compiled has none.
#if defined(REGIMEN_HAS_NCCL) && !defined(REGIMEN_CUDA_COMPILED)
inline constexpr bool has_nccl = true;
#else
inline constexpr bool has_nccl = !runs_here;
#endif

/// The form that a policy decides, or leaves to the device.
template <class Own, class Form>
using form_or = std::conditional_t<std::is_same_v<Form, OfDevice>, Own, Form>;

/// workspace      bytes that a product of the library may use
/// architecture   the least that is compiled for, 800 for sm_80; 0: not known
/// Choices        the policies that decide how operations are executed
/// cudnn          whether the library has attention and convolutions
/// nccl           whether ranks with a GPU each can be connected
template <std::size_t workspace, unsigned architecture = 0, class Choices = engines::DefaultChoices, bool cudnn = true,
          bool nccl = true>
struct Traits : engines::DefaultTraits {
  template <class Ranks>
  static constexpr bool takes_ranks = std::is_same_v<Ranks, Threads> || connects_gpus<Ranks>;
  /// Whether products compute in T: bf16 and tf32 came with sm_80.
  template <class T>
  static constexpr bool computes =
      architecture == 0 || architecture >= 800 || !(std::is_same_v<T, bf16> || std::is_same_v<T, tf32>);

  static constexpr bool is_host_memory = false, has_graphs = true, is_checked = true, offloads = true;
  using Epilogues = cuda::Epilogues;
  /// What one thread loads, and tensor cores want of an address.
  static constexpr std::size_t parameter_alignment = 16;
  /// Of a model's output and its gradient, whose rows may be as many numbers as there are words.
  static constexpr std::size_t row_alignment = 16;
  /// Some are read while others are written.
  static constexpr std::size_t input_slots(std::size_t micro_batches) { return 2 * micro_batches; }
  template <class Operation>
  static constexpr bool runs = HasKernel<Operation> || IsProduct<Operation>;
  using attention = form_or<Composed, typename Choices::attention::form>;
  using convolution = form_or<Direct, typename Choices::convolution::form>;
  static constexpr bool composes_attention = regimen::detail::ComposedForm<attention>;
  static constexpr bool fuses_attention = std::is_same_v<attention, Cudnn>,
                        calls_convolutions = std::is_same_v<convolution, Cudnn>, has_cudnn = cudnn, has_nccl = nccl;
  /// By default cuDNN computes what it takes.
  static constexpr bool prefers_fused = cudnn && std::is_same_v<typename Choices::attention::form, OfDevice>;
  /// Whether it may compute an operation, of some shape.
  template <class Operation>
  static constexpr bool may_fuse =
      Fuses<Operation> && (fuses_attention || (prefers_fused && fused_element_bytes<Operation> == 2));
  /// Whether cuDNN computes an attention: where Attention<Cudnn> says so, and by default, if no weights are dropped: it
  /// would draw other random numbers than the CPU.
  template <class Operation>
  static constexpr bool is_fused(const Operation& o) {
    if constexpr (!may_fuse<Operation>) return false;
    else return fuses_attention || (o.drop.threshold == 0 && not_taken_by_cudnn(o) == 0);
  }

  template <class Operation>
  static constexpr std::size_t scratch(const Operation& operation) {
    return kernel::scratch_of(operation);
  }
  /// The wider factor in the narrower type, then the library's workspace, which begins at a multiple of 256 bytes as
  /// all tensors do.
  template <IsProduct Operation>
  static constexpr std::size_t scratch(const Operation& o) {
    return rounded_bytes(product_of(o)) + workspace;
  }
  template <ComposesParts Operation>
  static constexpr std::size_t scratch(const Operation& o) {
    if constexpr (may_fuse<Operation>)
      if (is_fused(o)) return random_bytes(o.drop) + fused(o, workspace).workspace;
    if constexpr (composes_attention) return composed(o).bytes + workspace;
    else return kernel::scratch_of(o);
  }
  template <Convolves Operation>
  static constexpr std::size_t scratch(const Operation& o) {
    if constexpr (calls_convolutions) return rounded_gradient_bytes(o) + workspace;
    else return kernel::scratch_of(o);
  }
  /// What of an operation its form does not take: 0 nothing, 1 the element type, 2 the width of a head, 3 key heads
  /// that several heads share: products of many heads have equal strides, and cuDNN has not been asked for them; nor
  /// for 4, keys of another text, 5, a window, 6, what distances add to scores, and 7, lengths of texts.
  template <class T>
  static constexpr unsigned refused_part(const op::Attention<T>& o) {
    if constexpr (fuses_attention) return not_taken_by_cudnn(o);
    else return refused_in(o.shape, 0);
  }
  template <class T>
  static constexpr unsigned refused_part(const op::CrossAttention<T>& o) {
    return refused_in(o.shape, 4);
  }
  template <class T>
  static constexpr unsigned refused_part(const op::WindowAttention<T>& o) {
    return refused_in(o.attention.shape, 5);
  }
  template <class T>
  static constexpr unsigned refused_part(const op::BiasedAttention<T>& o) {
    return refused_in(o.attention.shape, 6);
  }
  template <class Operation>
  static constexpr unsigned refused_part(const op::WithinLengths<Operation>& o) {
    if constexpr (fuses_attention || !requires { refused_part(o.whole); }) return fuses_attention ? 7 : 0;
    else return refused_part(o.whole);
  }
  /// Where the composed form's scores and weights lie in its scratch.
  template <class Operation>
  static constexpr AttentionPiece composed(const Operation& o) {
    return piece_of(o, attention::score_bytes);
  }
  /// The wider factor of a product as it is stored, and its copy in the narrower type with rows of whole 16 bytes.
  struct WideFactor {
    std::size_t rows, columns, from_leading, leading, bytes;
  };
  template <class A, class B, class C>
  static constexpr WideFactor rounded(const op::Product<A, B, C>& o) {
    constexpr bool a_is_wider = sizeof(A) > sizeof(B);
    constexpr std::size_t element = a_is_wider ? sizeof(B) : sizeof(A);
    const bool transposed = a_is_wider ? o.transpose_a : o.transpose_b;
    const std::size_t outer = a_is_wider ? o.m : o.k, inner = a_is_wider ? o.k : o.n;
    const std::size_t rows = transposed ? inner : outer, columns = transposed ? outer : inner,
                      leading = (columns * element + 15) / 16 * 16 / element;
    return {.rows = rows,
            .columns = columns,
            .from_leading = a_is_wider ? o.row_of_a() : columns,
            .leading = leading,
            .bytes = TensorArena::align(rows * leading * element)};
  }

 private:
  /// Bytes of that copy; 0, if both factors have one type.
  template <class A, class B, class C>
  static constexpr std::size_t rounded_bytes(const op::Product<A, B, C>& o) {
    if constexpr (std::is_same_v<A, B>) return 0;
    else return rounded(o).bytes;
  }
  template <template <class> class Operation, class T>
  static constexpr unsigned not_taken_by_cudnn(const Operation<T>& o) {
    if (o.shape.group() > 1) return 3;
    if constexpr (sizeof(T) != 2) return 1;
    else return o.shape.width % Cudnn::channels_multiple != 0 || o.shape.width > Cudnn::most_channels ? 2 : 0;
  }
  static constexpr unsigned refused_in(const op::AttentionShape& shape, unsigned by_cudnn) {
    return fuses_attention ? by_cudnn : composes_attention && shape.group() > 1 ? 3 : 0;
  }
};

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
