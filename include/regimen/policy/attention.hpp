// regimen/policy/attention.hpp — by which kernels attention is computed.
#pragma once

#include <regimen/policy/bytes.hpp>
#include <regimen/policy/policy.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

/// The device's own form: Tiled on Cpu, Composed on GPUs.
struct OfDevice final {
  using option_of = regimen::axis::attention;
};

/// One kernel, which works on tiles with a running maximum: no scores are stored.
struct Tiled final {
  using option_of = regimen::axis::attention;
};

/// Products of the library and a kernel for the softmax between them, which knows windows, biases of distances and ends of
/// texts (products compute what these hide, too), for as many heads at once as have at most
/// `score_bytes` of scores and weights, but at least one head. A form of your own with another `score_bytes` is
/// composed, too.
struct Composed final {
  using option_of = regimen::axis::attention;
  static constexpr std::size_t score_bytes = 256_MiB;
};

/// A fused kernel of cuDNN, which stores no scores: for bf16 and fp16, and heads of a multiple of 8 channels, at most
/// 256. Dropout draws cuDNN's own random numbers: their seed is a hash of the seed, the step, the layer and the first
/// sample, so that a program repeats its bits; but it drops other weights than the other forms do, and others again
/// with another batch, accumulation or number of ranks.
///
/// error   cuDNN keeps one fp32 number a row, log Σ exp. It is as large as the largest score s, so half its ulp is up to
///         |s| · 2^-24, and the score that it is subtracted from was rounded as coarsely: a probability of backward is off
///         by a factor of up to e^(|s| · 2^-23). That is a rounding of fp16 (2^-11) at |s| = 4096, of bf16 (2^-8) at 32768,
///         13 % at 1e6, and no digit is left from 6e6 on; forward, and the other forms, lose none
struct Cudnn final {
  using option_of = regimen::axis::attention;
  static constexpr std::size_t channels_multiple = 8, most_channels = 256;
};

/// Decides the form in which a device computes the attention of SelfAttention. All forms compute the same function, of
/// the same random numbers but for Cudnn, with other roundings; each repeats its bits. A recipe has it for models without
/// attention, too, where it changes no result.
///
///   choices   Attention<Tiled>, Attention<Composed>, Attention<Cudnn>
///   default   Attention<>: the device's own form; on GPUs Cudnn for what it takes, if the program is compiled with it and no
///             weights are dropped, else Composed
///   refuses   a form that the device lacks; Cudnn where the program is compiled without it, and for what it lacks
///   cost      Composed stores scores and weights, for a piece of the heads at a time, and reads them again; the plan
///             has their bytes. Its products run on tensor cores, which Tiled does not use. In Composed a key or value
///             that is not finite reaches every query of its head: a weight of zero does not hide it. Cudnn compiles
///             its kernels when a Trainer is constructed, a second for each; its backward pass takes T^2 numbers of 16 bits
///             for each head and sample besides, as scratch
///   effect    engine/plan/devices.hpp (attention), engine/cuda/traits.hpp (composes_attention, fuses_attention),
///             engine/cuda/engine.hpp (attend)
///
/// One new position against kept ones (incremental decoding) of SelfAttention is Tiled in every form; against another text
/// (CrossAttention) it has the form.
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
