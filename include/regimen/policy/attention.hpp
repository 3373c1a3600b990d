// regimen/policy/attention.hpp — the kernels that compute attention.
#pragma once

#include <regimen/policy/bytes.hpp>
#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// The device's own form: Tiled on the CPU; on GPUs see the default of Attention.
struct OfDevice final : detail::OptionOf<axis::attention> {};

/// One kernel, which works on tiles with a running maximum: no scores are stored.
struct Tiled final : detail::OptionOf<axis::attention> {};

/// Two products of the library, with a kernel for the softmax between them. The kernel hides keys outside a window or
/// after the end of a text, and adds biases of distances; the products compute hidden scores, too. The work is cut into
/// pieces: a piece has as many heads as `score_bytes` of scores and weights allow, at least one. A form of your own
/// with another `score_bytes` is composed, too.
struct Composed final : detail::OptionOf<axis::attention> {
  static constexpr std::size_t score_bytes = 256_MiB;
};

/// A fused kernel of cuDNN, which stores no scores: for bf16 and fp16, and heads of a multiple of 8 channels, at most
/// 256. Dropout draws cuDNN's own random numbers, from a hash of the seed, the step, the layer and the first sample. A
/// program repeats its bits. Cudnn does not drop the weights that the other forms drop, and it drops other weights if
/// the batch, the accumulation or the number of ranks changes.
///
/// error   cuDNN keeps one fp32 number a row, log Σ exp. This number is as large as the largest score s, so half its
///         ulp is up to |s| · 2^-24; the score itself was rounded as coarsely. Their difference makes a probability of
///         backward wrong by a factor of up to e^(|s| · 2^-23): a rounding of fp16 (2^-11) at |s| = 4096, of bf16
///         (2^-8) at 32768, 13 % at 1e6, no correct digit from 6e6 on. Forward and the other forms have no such error
struct Cudnn final : detail::OptionOf<axis::attention> {
  static constexpr std::size_t channels_multiple = 8, most_channels = 256;
};

/// Decides the form in which a device computes the attention of SelfAttention. All forms compute the same function with
/// different roundings, and each repeats its bits. Every form except Cudnn draws the same random numbers. The policy
/// has no effect on a model without attention.
///
///   choices   Attention<Tiled>, Attention<Composed>, Attention<Cudnn>
///   default   Attention<>. On the CPU: Tiled. On GPUs: Cudnn, if it takes the operation, no weights are dropped, and
///             the program is compiled with cuDNN; else Composed
///   refuses   a form that the device lacks; Cudnn for an operation that it does not take, or in a program compiled
///             without cuDNN
///   cost      Composed stores and rereads scores and weights, one piece of the heads at a time; the plan has their
///             bytes. Its products run on tensor cores; Tiled uses none. In Composed a key or value that is not finite
///             reaches every query of its head: a weight of zero does not hide it. Cudnn compiles its kernels when a
///             Trainer is constructed, one second for each; its backward pass has a scratch of T^2 numbers of 16 bits
///             for each head and sample
///   effect    engine/plan/devices.hpp (attention), engine/cuda/traits.hpp (composes_attention, fuses_attention),
///             engine/cuda/engine.hpp (attend)
///
/// Incremental decoding: SelfAttention computes a new position by Tiled under every form; CrossAttention computes it by
/// the form that the policy chooses.
template <class Form = OfDevice>
struct Attention final {
  using axis = regimen::axis::attention;
  using form = Form;
};

namespace detail {
/// Whether a form stores scores.
template <class Form>
concept ComposedForm = requires {
  { Form::score_bytes } -> std::convertible_to<std::size_t>;
};
}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
