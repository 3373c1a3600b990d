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
///   bytes   of its scores and weights: matrices (T,S) of queries and keys for each head, one behind the other; weights
///           in the type of scores lie in their place
struct AttentionPiece {
  std::size_t heads = 0, bytes = 0;
  std::size_t scores = 0, weights = 0, d_weights = 0, d_scores = 0;  // where they begin
};

namespace detail {

/// The heads of part `part` of a tensor (B,length,parts,H,D).
template <class T>
struct Heads {
  View<T> tensor;
  std::size_t length = 0, parts = 1, part = 0;
};

/// What the form reads of an operation of attention. Where keys and values stand beside the queries, q is kv.
///   more   what other kernels serve: see kernel::AttentionWeights
template <class T, bool more, bool backward>
struct ComposedParts {
  op::AttentionShape shape;
  op::Drop drop;
  View<T> q, kv, y{}, d_y{}, d_q{}, d_kv{};
  View<statistic_t<T>> bias{}, d_bias{};
  View<std::int32_t> lengths{};

  // The heads of q, kv and y, or of their gradients.
  Heads<T> queries(View<T> tensor) const { return {tensor, shape.length, shape.crosses() ? 1u : 3u, 0}; }
  Heads<T> keys(View<T> tensor) const { return beside(tensor, 1); }
  Heads<T> values(View<T> tensor) const { return beside(tensor, 2); }
  Heads<T> outputs(View<T> tensor) const { return {tensor, shape.length}; }

 private:
  /// Part 1, keys, or 2, values: of three beside the queries, or, of another text, of two in a tensor of their own.
  Heads<T> beside(View<T> tensor, std::size_t part) const {
    return shape.crosses() ? Heads<T>{tensor, shape.keys(), 2, part - 1} : Heads<T>{tensor, shape.length, 3, part};
  }
};

/// The parts of each operation. An operation that has another inside asks for its parts with more = true; of those that
/// always have more, the argument says nothing.
template <bool more = false, class T>
constexpr auto parts_of(const op::Attention<T>& o) {
  return ComposedParts<T, more, false>{.shape = o.shape, .drop = o.drop, .q = o.qkv, .kv = o.qkv, .y = o.y};
}
template <bool more = false, class T>
constexpr auto parts_of(const op::AttentionBackward<T>& o) {
  return ComposedParts<T, more, true>{
      .shape = o.shape, .drop = o.drop, .q = o.qkv, .kv = o.qkv, .d_y = o.d_y, .d_q = o.d_qkv, .d_kv = o.d_qkv};
}
template <bool = true, class T>
constexpr auto parts_of(const op::CrossAttention<T>& o) {
  return ComposedParts<T, true, false>{.shape = o.shape, .drop = o.drop, .q = o.q, .kv = o.kv, .y = o.y};
}
template <bool = true, class T>
constexpr auto parts_of(const op::CrossAttentionBackward<T>& o) {
  return ComposedParts<T, true, true>{
      .shape = o.shape, .drop = o.drop, .q = o.q, .kv = o.kv, .d_y = o.d_y, .d_q = o.d_q, .d_kv = o.d_kv};
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

/// The products of one piece: in each a matrix for each of its heads.
template <class T>
struct PieceProducts {
  op::AttentionShape shape;
  kernel::HeadRun run;

  /// c = a · bᵀ: (T,S) of a (T,D) and b (S,D).
  ManyProducts<T, T, statistic_t<T>> scores(const Heads<T>& a, const Heads<T>& b, View<statistic_t<T>> c) const {
    return {.a = first(a),
            .a_rows = rows(a),
            .b = first(b),
            .b_rows = rows(b),
            .transpose_b = true,
            .c = c,
            .c_rows = rows_of_scores()};
  }
  /// c = a · b, or aᵀ · b: (T,D) or (S,D) of a (T,S) and b (S,D) or (T,D).
  ManyProducts<T, T, T> heads(View<T> a, bool transpose, const Heads<T>& b, const Heads<T>& c) const {
    return {.a = a,
            .a_rows = rows_of_scores(),
            .transpose_a = transpose,
            .b = first(b),
            .b_rows = rows(b),
            .c = first(c),
            .c_rows = rows(c)};
  }

 private:
  /// (T,S) matrices, one behind the other in scratch.
  Rows rows_of_scores() const {
    return {.rows = shape.length, .columns = shape.keys(), .count = run.count, .stride = shape.length * shape.keys()};
  }
  /// (length,D) matrices in a tensor.
  Rows rows(const Heads<T>& in) const {
    const std::size_t channels = in.parts * shape.heads * shape.width;
    return {.rows = in.length,
            .columns = shape.width,
            .leading = channels,
            .count = run.count,
            .stride = run.step == 1 && shape.heads > 1 ? shape.width : in.length * channels};
  }
  /// Where the first of them begins.
  View<T> first(const Heads<T>& in) const {
    const std::size_t b = run.first / shape.heads, h = run.first % shape.heads;
    return in.tensor + ((b * in.length * in.parts + in.part) * shape.heads + h) * shape.width;
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

/// Launches what follows the scores of a piece forward: weights, y.
template <class T, bool more>
void launch_forward(const ComposedParts<T, more, false>& o, const AttentionPiece& piece, std::size_t scratch,
                    const kernel::HeadRun& run, const auto& launch) {
  const View<T> weights{scratch + piece.weights};
  launch(kernel::AttentionWeights<T, more>{.scores = {scratch + piece.scores},
                                           .weights = weights,
                                           .shape = o.shape,
                                           .drop = o.drop,
                                           .run = run,
                                           .bias = o.bias,
                                           .lengths = o.lengths});
  launch(PieceProducts<T>{o.shape, run}.heads(weights, false, o.values(o.kv), o.outputs(o.y)));
}
/// Launches what follows the scores of a piece backward: d_weights; weights and d_scores; d_v, d_q, d_k and d_bias.
template <class T, bool more>
void launch_backward(const ComposedParts<T, more, true>& o, const AttentionPiece& piece, std::size_t scratch,
                     const kernel::HeadRun& run, const auto& launch) {
  const View<statistic_t<T>> d_weights{scratch + piece.d_weights};
  const View<T> weights{scratch + piece.weights}, d_scores{scratch + piece.d_scores};
  const PieceProducts<T> products{o.shape, run};
  launch(products.scores(o.outputs(o.d_y), o.values(o.kv), d_weights));
  launch(kernel::AttentionWeightsBackward<T, more>{.scores = {scratch + piece.scores},
                                                   .d_weights = d_weights,
                                                   .weights = weights,
                                                   .d_scores = d_scores,
                                                   .shape = o.shape,
                                                   .drop = o.drop,
                                                   .run = run,
                                                   .bias = o.bias,
                                                   .lengths = o.lengths});
  launch(products.heads(weights, true, o.outputs(o.d_y), o.values(o.d_kv)));
  launch(products.heads(d_scores, false, o.keys(o.kv), o.queries(o.d_q)));
  launch(products.heads(d_scores, true, o.queries(o.q), o.keys(o.d_kv)));
  if constexpr (more)
    if (!o.d_bias.is_absent())
      launch(kernel::AttentionBiasBackward<T>{.d_scores = d_scores, .d_bias = o.d_bias, .shape = o.shape, .run = run});
}

/// launch(part, scratch) for all parts: weights = softmax(q kᵀ / √D) with dropout, y = weights · v.
///
/// The backward pass computes the scores again, and d_weights = d_y · vᵀ; of both the weights and d_scores; then
/// d_v = weightsᵀ · d_y, d_q = d_scores · k and d_k = d_scoresᵀ · q. y, softmax and row_dot are not used: scores are
/// whole rows, of which the softmax is taken again, and Σ y · d_y is Σ weights · d_weights.
///
/// error   all of a row, scores and softmax, in S; weights and d_scores are rounded to T, y and d_qkv once more; d_bias
///         sums rounded d_scores
template <class T, bool more, bool backward>
void launch_parts(const ComposedParts<T, more, backward>& o, const AttentionPiece& piece, std::size_t scratch,
                  const auto& launch) {
  for_each_piece(o.shape, piece.heads, [&](const kernel::HeadRun& run) {
    const auto launch_here = [&](const auto& part) { launch(part, scratch + piece.bytes); };
    const View<statistic_t<T>> scores{scratch + piece.scores};
    launch_here(PieceProducts<T>{o.shape, run}.scores(o.queries(o.q), o.keys(o.kv), scores));
    if constexpr (backward) launch_backward(o, piece, scratch, run, launch_here);
    else launch_forward(o, piece, scratch, run, launch_here);
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
/// What the library is asked for. A backward pass keeps the gradients of all scores in type T besides, of lengths that
/// are rounded up to tiles: cuDNN 9.19 wants 402,653,312 bytes on an H200 for (16,1024,12·64) in bf16. Without them it
/// adds d_q in no fixed order.
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
