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
///   bytes   of its scores and weights: matrices (T,T) for each head, one behind the other; weights in the type of
///           scores lie in their place
struct AttentionPiece {
  std::size_t heads = 0, bytes = 0;
  std::size_t scores = 0, weights = 0, d_weights = 0, d_scores = 0;  // where they begin
};

namespace detail {

template <class T>
constexpr AttentionPiece piece_within(const op::AttentionShape& shape, std::size_t largest, bool backward) {
  using S = statistic_t<T>;
  constexpr bool narrow = !std::is_same_v<S, T>;
  const std::size_t elements = shape.length * shape.length,
                    of_a_head = elements * (sizeof(S) + (narrow ? sizeof(T) : 0)) * (backward ? 2 : 1),
                    most = shape.batch > shape.heads ? shape.batch : shape.heads,
                    fitting = of_a_head == 0 ? most : largest / of_a_head;
  AttentionPiece piece;
  piece.heads = fitting == 0 ? 1 : fitting < most ? fitting : most;
  const std::size_t wide = Arena::align(piece.heads * elements * sizeof(S)),
                    rounded = narrow ? Arena::align(piece.heads * elements * sizeof(T)) : 0;
  piece.weights = narrow ? wide : piece.scores;
  piece.d_weights = wide + rounded;
  piece.d_scores = piece.d_weights + (narrow ? wide : 0);
  piece.bytes = (backward ? 2 : 1) * (wide + rounded);
  return piece;
}

/// The matrices of one piece, in the memory of an operation.
template <class T>
struct HeadMatrices {
  using S = statistic_t<T>;
  op::AttentionShape shape;
  kernel::HeadRun run;

  /// (T,T) matrices, one behind the other in scratch.
  Rows scores() const {
    return {.rows = shape.length, .columns = shape.length, .count = run.count, .stride = shape.length * shape.length};
  }
  /// (T,D) matrices, `tensors` of them side by side per position.
  Rows heads(std::size_t tensors) const {
    const std::size_t channels = tensors * shape.heads * shape.width;
    return {.rows = shape.length,
            .columns = shape.width,
            .leading = channels,
            .count = run.count,
            .stride = run.step == 1 && shape.heads > 1 ? shape.width : shape.length * channels};
  }
  /// q, k, v of (B,T,3,H,D) are parts 0, 1, 2; y (B,T,H,D) is part 0 of 1.
  View<T> first(View<T> tensor, std::size_t part, std::size_t tensors) const {
    const std::size_t b = run.first / shape.heads, h = run.first % shape.heads;
    return tensor + ((b * shape.length * tensors + part) * shape.heads + h) * shape.width;
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

}  // namespace detail

template <class T>
constexpr AttentionPiece piece_of(const op::Attention<T>& o, std::size_t largest) {
  return detail::piece_within<T>(o.shape, largest, false);
}
template <class T>
constexpr AttentionPiece piece_of(const op::AttentionBackward<T>& o, std::size_t largest) {
  return detail::piece_within<T>(o.shape, largest, true);
}

namespace detail {
template <class T>
constexpr FusedAttention fused_within(const op::AttentionShape& s, std::uint32_t threshold, bool backward,
                                      std::size_t workspace) {
  const std::size_t rows = s.batch * s.heads * s.length;
  return {.type = element_type_of<T>,
          .batch = static_cast<std::int64_t>(s.batch),
          .length = static_cast<std::int64_t>(s.length),
          .heads = static_cast<std::int64_t>(s.heads),
          .width = static_cast<std::int64_t>(s.width),
          .causal = s.causal,
          .backward = backward,
          .threshold = threshold,
          .workspace = workspace + (backward ? Arena::align(rows * (s.width + 2) * sizeof(float)) : 0),
          .is_scaled = s.is_scaled};
}
}  // namespace detail

/// What the library is asked for. A backward pass may use the bytes of d_q in fp32 and of two numbers a row besides.
template <class T>
constexpr FusedAttention fused(const op::Attention<T>& o, std::size_t workspace) {
  return detail::fused_within<T>(o.shape, o.drop.threshold, false, workspace);
}
template <class T>
constexpr FusedAttention fused(const op::AttentionBackward<T>& o, std::size_t workspace) {
  return detail::fused_within<T>(o.shape, o.drop.threshold, true, workspace);
}
/// Bytes of scratch before the workspace, where seed and offset of the library's random numbers lie.
constexpr std::size_t random_bytes(const op::Drop& drop) {
  return drop.threshold > 0 ? Arena::align(2 * sizeof(std::int64_t)) : 0;
}
template <class T>
FusedTensors fused_tensors(const op::Attention<T>& o, std::byte* base) {
  return {.qkv = base + o.qkv.offset, .y = base + o.y.offset, .log_sum = base + o.log_sum.offset};
}
template <class T>
FusedTensors fused_tensors(const op::AttentionBackward<T>& o, std::byte* base) {
  return {.qkv = base + o.qkv.offset,
          .y = base + o.y.offset,
          .log_sum = base + o.log_sum.offset,
          .d_y = base + o.d_y.offset,
          .d_qkv = base + o.d_qkv.offset,
          .row_dot = base + o.row_dot.offset};
}

/// launch(part, scratch) for all parts: weights = softmax(q kᵀ / √D) with dropout, y = weights · v.
///
/// error   scores and softmax in S; weights are rounded to T, y once more
template <class T>
void for_each_part(const op::Attention<T>& o, const AttentionPiece& piece, std::size_t scratch, const auto& launch) {
  using S = statistic_t<T>;
  const std::size_t workspace = scratch + piece.bytes;
  const View<S> scores{scratch + piece.scores};
  const View<T> weights{scratch + piece.weights};
  detail::for_each_piece(o.shape, piece.heads, [&](const kernel::HeadRun& run) {
    const detail::HeadMatrices<T> m{o.shape, run};
    launch(ManyProducts<T, T, S>{.a = m.first(o.qkv, 0, 3),
                                 .a_rows = m.heads(3),
                                 .b = m.first(o.qkv, 1, 3),
                                 .b_rows = m.heads(3),
                                 .transpose_b = true,
                                 .c = scores,
                                 .c_rows = m.scores()},
           workspace);
    launch(
        kernel::AttentionWeights<T>{
            .scores = scores, .weights = weights, .log_sum = o.log_sum, .shape = o.shape, .drop = o.drop, .run = run},
        workspace);
    launch(ManyProducts<T, T, T>{.a = weights,
                                 .a_rows = m.scores(),
                                 .b = m.first(o.qkv, 2, 3),
                                 .b_rows = m.heads(3),
                                 .c = m.first(o.y, 0, 1),
                                 .c_rows = m.heads(1)},
           workspace);
  });
}

/// d_weights = d_y · vᵀ, and from it and the scores the weights again, and d_scores; then d_v = weightsᵀ · d_y,
/// d_q = d_scores · k and d_k = d_scoresᵀ · q. y and row_dot are not used: Σ y · d_y is Σ weights · d_weights.
///
/// error   all of a row in S; weights and d_scores are rounded to T, d_qkv once more
template <class T>
void for_each_part(const op::AttentionBackward<T>& o, const AttentionPiece& piece, std::size_t scratch,
                   const auto& launch) {
  using S = statistic_t<T>;
  const std::size_t workspace = scratch + piece.bytes;
  const View<S> scores{scratch + piece.scores}, d_weights{scratch + piece.d_weights};
  const View<T> weights{scratch + piece.weights}, d_scores{scratch + piece.d_scores};
  detail::for_each_piece(o.shape, piece.heads, [&](const kernel::HeadRun& run) {
    const detail::HeadMatrices<T> m{o.shape, run};
    const auto part = [&](std::size_t index) { return m.first(o.qkv, index, 3); };
    const auto d_part = [&](std::size_t index) { return m.first(o.d_qkv, index, 3); };
    const View<T> d_y = m.first(o.d_y, 0, 1);
    const auto of_scores = [&](View<T> a, std::size_t a_tensors, View<T> b, View<S> c) {
      launch(ManyProducts<T, T, S>{.a = a,
                                   .a_rows = m.heads(a_tensors),
                                   .b = b,
                                   .b_rows = m.heads(3),
                                   .transpose_b = true,
                                   .c = c,
                                   .c_rows = m.scores()},
             workspace);
    };
    const auto of_heads = [&](View<T> a, bool transpose, View<T> b, std::size_t b_tensors, View<T> c) {
      launch(ManyProducts<T, T, T>{.a = a,
                                   .a_rows = m.scores(),
                                   .transpose_a = transpose,
                                   .b = b,
                                   .b_rows = m.heads(b_tensors),
                                   .c = c,
                                   .c_rows = m.heads(3)},
             workspace);
    };
    of_scores(part(0), 3, part(1), scores);
    of_scores(d_y, 1, part(2), d_weights);
    launch(kernel::AttentionWeightsBackward<T>{.scores = scores,
                                               .d_weights = d_weights,
                                               .log_sum = o.log_sum,
                                               .weights = weights,
                                               .d_scores = d_scores,
                                               .shape = o.shape,
                                               .drop = o.drop,
                                               .run = run},
           workspace);
    of_heads(weights, true, d_y, 1, d_part(2));
    of_heads(d_scores, false, part(1), 3, d_part(0));
    of_heads(d_scores, true, part(0), 3, d_part(1));
  });
}

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
