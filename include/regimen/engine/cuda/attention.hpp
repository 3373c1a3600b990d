// regimen/engine/cuda/attention.hpp — attention composed of products of the library and a kernel between them.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>
#include <regimen/engine/cuda/product.hpp>
#include <regimen/engine/cuda/runtime.hpp>
#include <regimen/kernel/composed_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::cuda {

/// Scores of all heads at once may be more than a GPU has. So the form works on a piece at a time: on neighbouring
/// heads of one sample, or on the same head of neighbouring samples, whichever there are more of; these have equal
/// strides.
///
///   heads   of the largest piece
///   bytes   of its scores and weights: matrices (T,S) of queries and keys for each head, one behind the other; weights in the type of
///           scores lie in their place
struct AttentionPiece {
  std::size_t heads = 0, bytes = 0;
  std::size_t scores = 0, weights = 0, d_weights = 0, d_scores = 0;  // where they begin
};

namespace detail {

/// Heads in a tensor (B,length,tensors,H,D): part `part` of it.
struct HeadsIn {
  std::size_t length = 0, tensors = 1, part = 0;
};

/// What the form reads of an operation of attention.
///   more   what other kernels serve: see kernel::AttentionWeights
template <class T, bool more, bool backward>
struct ComposedParts {
  op::AttentionShape shape;
  View<T> q, kv;
  HeadsIn of_q, of_k, of_v;
  View<T> y;
  op::Drop drop{};
  View<T> d_y{}, d_q{}, d_kv{};
  View<statistic_t<T>> bias{}, d_bias{};
  View<std::int32_t> lengths{};
  HeadsIn of_y() const { return {shape.length}; }
};

/// The parts of each operation. An operation that has another inside asks for its parts with more = true; of those that
/// always have more, the argument says nothing.
template <bool more = false, class T>
constexpr auto parts_of(const op::Attention<T>& o) {
  const std::size_t t = o.shape.length;
  return ComposedParts<T, more, false>{o.shape, o.qkv, o.qkv, {t, 3, 0}, {t, 3, 1}, {t, 3, 2}, o.y, o.drop};
}
template <bool more = false, class T>
constexpr auto parts_of(const op::AttentionBackward<T>& o) {
  const std::size_t t = o.shape.length;
  return ComposedParts<T, more, true>{o.shape, o.qkv,  o.qkv, {t, 3, 0}, {t, 3, 1}, {t, 3, 2},
                                      o.y,     o.drop, o.d_y, o.d_qkv,   o.d_qkv};
}
template <bool = true, class T>
constexpr auto parts_of(const op::CrossAttention<T>& o) {
  const std::size_t t = o.shape.length, s = o.shape.key_length;
  return ComposedParts<T, true, false>{o.shape, o.q, o.kv, {t, 1, 0}, {s, 2, 0}, {s, 2, 1}, o.y, o.drop};
}
template <bool = true, class T>
constexpr auto parts_of(const op::CrossAttentionBackward<T>& o) {
  const std::size_t t = o.shape.length, s = o.shape.key_length;
  return ComposedParts<T, true, true>{o.shape, o.q,    o.kv,  {t, 1, 0}, {s, 2, 0}, {s, 2, 1},
                                      o.y,     o.drop, o.d_y, o.d_q,     o.d_kv};
}
template <bool = true, class T>
constexpr auto parts_of(const op::WindowAttention<T>& o) {
  return parts_of<true>(o.attention);
}
template <bool = true, class T>
constexpr auto parts_of(const op::WindowAttentionBackward<T>& o) {
  return parts_of<true>(o.backward);
}
template <bool = true, class T>
constexpr auto parts_of(const op::BiasedAttention<T>& o) {
  auto parts = parts_of<true>(o.attention);
  parts.bias = o.bias;
  return parts;
}
template <bool = true, class T>
constexpr auto parts_of(const op::BiasedAttentionBackward<T>& o) {
  auto parts = parts_of<true>(o.backward);
  parts.bias = o.bias, parts.d_bias = o.d_bias;
  return parts;
}
template <class Operation>
  requires requires(const Operation& o) { parts_of<true>(o); }
constexpr auto parts_of(const op::WithinLengths<Operation>& o) {
  auto parts = parts_of<true>(o.whole);
  parts.lengths = o.lengths;
  return parts;
}

template <class T, bool more, bool backward>
constexpr AttentionPiece piece_within(const ComposedParts<T, more, backward>& parts, std::size_t largest) {
  using S = statistic_t<T>;
  constexpr bool narrow = !std::is_same_v<S, T>;
  const op::AttentionShape& shape = parts.shape;
  const std::size_t elements = shape.length * shape.keys(),
                    of_a_head = elements * (sizeof(S) + (narrow ? sizeof(T) : 0)) * (backward ? 2 : 1),
                    most = shape.batch > shape.heads ? shape.batch : shape.heads,
                    fitting = of_a_head == 0 ? most : largest / of_a_head;
  AttentionPiece piece;
  piece.heads = fitting == 0 ? 1 : fitting < most ? fitting : most;
  const std::size_t wide = TensorArena::align(piece.heads * elements * sizeof(S)),
                    rounded = narrow ? TensorArena::align(piece.heads * elements * sizeof(T)) : 0;
  piece.weights = narrow ? wide : piece.scores;
  piece.d_weights = wide + rounded;
  piece.d_scores = piece.d_weights + (narrow ? wide : 0);
  piece.bytes = (backward ? 2 : 1) * (wide + rounded);
  return piece;
}

/// The matrices of one piece, in the memory of an operation.
template <class T>
struct HeadMatrices {
  op::AttentionShape shape;
  kernel::HeadRun run;

  /// (T,S) matrices, one behind the other in scratch.
  Rows scores() const {
    return {.rows = shape.length, .columns = shape.keys(), .count = run.count, .stride = shape.length * shape.keys()};
  }
  /// (length,D) matrices.
  Rows heads(const HeadsIn& in) const {
    const std::size_t channels = in.tensors * shape.heads * shape.width;
    return {.rows = in.length,
            .columns = shape.width,
            .leading = channels,
            .count = run.count,
            .stride = run.step == 1 && shape.heads > 1 ? shape.width : in.length * channels};
  }
  View<T> first(View<T> tensor, const HeadsIn& in) const {
    const std::size_t b = run.first / shape.heads, h = run.first % shape.heads;
    return tensor + ((b * in.length * in.tensors + in.part) * shape.heads + h) * shape.width;
  }
};

/// body(run) for each piece.
constexpr void for_each_piece(const op::AttentionShape& shape, std::size_t largest, const auto& body) {
  const bool over_samples = shape.batch > shape.heads;
  const std::size_t all = over_samples ? shape.batch : shape.heads, others = over_samples ? shape.heads : shape.batch,
                    step = over_samples ? shape.heads : 1, other_step = over_samples ? 1 : shape.heads;
  for (std::size_t other = 0; other < others; ++other)
    for (std::size_t first = 0; first < all; first += largest)
      body(kernel::HeadRun{.first = other * other_step + first * step,
                           .step = step,
                           .count = all - first < largest ? all - first : largest});
}

/// launch(part, scratch) for all parts: weights = softmax(q kᵀ / √D) with dropout, y = weights · v.
///
/// The backward pass computes the scores again, and d_weights = d_y · vᵀ; of both the weights and d_scores; then
/// d_v = weightsᵀ · d_y, d_q = d_scores · k and d_k = d_scoresᵀ · q. y, softmax and row_dot are not used: scores are whole
/// rows, of which the softmax is taken again, and Σ y · d_y is Σ weights · d_weights.
///
/// error   all of a row, scores and softmax, in S; weights and d_scores are rounded to T, y and d_qkv once more; d_bias
///         sums rounded d_scores
template <class T, bool more, bool backward>
void launch_parts(const ComposedParts<T, more, backward>& o, const AttentionPiece& piece, std::size_t scratch,
                  const auto& launch) {
  using S = statistic_t<T>;
  const std::size_t workspace = scratch + piece.bytes;
  const View<S> scores{scratch + piece.scores};
  const View<T> weights{scratch + piece.weights};
  for_each_piece(o.shape, piece.heads, [&](const kernel::HeadRun& run) {
    const HeadMatrices<T> m{o.shape, run};
    const auto of_scores = [&](View<T> a, const HeadsIn& in_a, const HeadsIn& in_b, View<S> c) {
      launch(ManyProducts<T, T, S>{.a = m.first(a, in_a),
                                   .a_rows = m.heads(in_a),
                                   .b = m.first(o.kv, in_b),
                                   .b_rows = m.heads(in_b),
                                   .transpose_b = true,
                                   .c = c,
                                   .c_rows = m.scores()},
             workspace);
    };
    const auto of_heads = [&](View<T> a, bool transpose, View<T> b, const HeadsIn& in_b, View<T> c,
                              const HeadsIn& in_c) {
      launch(ManyProducts<T, T, T>{.a = a,
                                   .a_rows = m.scores(),
                                   .transpose_a = transpose,
                                   .b = m.first(b, in_b),
                                   .b_rows = m.heads(in_b),
                                   .c = m.first(c, in_c),
                                   .c_rows = m.heads(in_c)},
             workspace);
    };
    of_scores(o.q, o.of_q, o.of_k, scores);
    if constexpr (!backward) {
      launch(kernel::AttentionWeights<T, more>{.scores = scores,
                                               .weights = weights,
                                               .shape = o.shape,
                                               .drop = o.drop,
                                               .run = run,
                                               .bias = o.bias,
                                               .lengths = o.lengths},
             workspace);
      of_heads(weights, false, o.kv, o.of_v, o.y, o.of_y());
    } else {
      const View<S> d_weights{scratch + piece.d_weights};
      const View<T> d_scores{scratch + piece.d_scores};
      of_scores(o.d_y, o.of_y(), o.of_v, d_weights);
      launch(kernel::AttentionWeightsBackward<T, more>{.scores = scores,
                                                       .d_weights = d_weights,
                                                       .weights = weights,
                                                       .d_scores = d_scores,
                                                       .shape = o.shape,
                                                       .drop = o.drop,
                                                       .run = run,
                                                       .bias = o.bias,
                                                       .lengths = o.lengths},
             workspace);
      of_heads(weights, true, o.d_y, o.of_y(), o.d_kv, o.of_v);
      of_heads(d_scores, false, o.kv, o.of_k, o.d_q, o.of_q);
      of_heads(d_scores, true, o.q, o.of_q, o.d_kv, o.of_k);
      if constexpr (more)
        if (!o.d_bias.is_absent())
          launch(
              kernel::AttentionBiasBackward<T>{.d_scores = d_scores, .d_bias = o.d_bias, .shape = o.shape, .run = run},
              workspace);
    }
  });
}

}  // namespace detail

/// An operation that the form can compute.
template <class Operation>
concept ComposesParts = requires(const Operation& o) { detail::parts_of(o); };

template <ComposesParts Operation>
constexpr AttentionPiece piece_of(const Operation& o, std::size_t largest) {
  return detail::piece_within(detail::parts_of(o), largest);
}
template <ComposesParts Operation>
void for_each_part(const Operation& o, const AttentionPiece& piece, std::size_t scratch, const auto& launch) {
  detail::launch_parts(detail::parts_of(o), piece, scratch, launch);
}

/// Bytes of an element of an operation that the library has whole; 0 of another.
template <class Operation>
inline constexpr std::size_t fused_element_bytes = 0;
template <class T>
inline constexpr std::size_t fused_element_bytes<op::Attention<T>> = sizeof(T);
template <class T>
inline constexpr std::size_t fused_element_bytes<op::AttentionBackward<T>> = sizeof(T);
template <class Operation>
concept Fuses = fused_element_bytes<Operation> != 0;
/// What the library is asked for. A backward pass keeps the gradients of all scores in type T besides, of lengths that are
/// rounded up to tiles: cuDNN 9.19 wants 402,653,312 bytes on an H200 for (16,1024,12·64) in bf16. Without them it adds d_q
/// in no fixed order.
template <template <class> class Operation, class T>
  requires Fuses<Operation<T>>
constexpr FusedAttention fused(const Operation<T>& o, std::size_t workspace) {
  constexpr bool backward = requires { o.d_y; };
  constexpr std::size_t tile = 64;
  const op::AttentionShape& s = o.shape;
  const std::size_t length = (s.length + tile - 1) / tile * tile;
  return {.type = element_type_of<T>,
          .batch = static_cast<std::int64_t>(s.batch),
          .length = static_cast<std::int64_t>(s.length),
          .heads = static_cast<std::int64_t>(s.heads),
          .width = static_cast<std::int64_t>(s.width),
          .causal = s.causal,
          .backward = backward,
          .threshold = o.drop.threshold,
          .workspace = workspace + (backward ? TensorArena::align(s.batch * s.heads * length * length * sizeof(T)) : 0),
          .is_scaled = s.is_scaled};
}
/// Bytes of scratch before the workspace, where seed and offset of the library's random numbers lie.
constexpr std::size_t random_bytes(const op::Drop& drop) {
  return drop.threshold > 0 ? TensorArena::align(2 * sizeof(std::int64_t)) : 0;
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
