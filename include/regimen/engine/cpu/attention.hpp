// regimen/engine/cpu/attention.hpp — softmax(q kᵀ / √D) v, tile by tile; with its gradient.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention_backward.hpp>
#include <regimen/engine/cpu/attention_tile.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen::cpu {

namespace detail {

/// Forward attention of one head for as many queries as rows_of says.
template <class T>
struct AttentionForward final {
  using S = statistic_t<T>;
  using Tile = AttentionTile<S>;
  static constexpr std::size_t output_room = (Tile::queries + Tile::spare_rows) * Tile::largest_width;

  const T* q;
  const T* kv;  // the same as q where k and v stand beside it
  T* y;
  op::SoftmaxRow<S>* softmax;  // of this head
  const S* bias;               // of this head's distances; null: none
  op::AttentionShape shape;
  std::size_t end_of_keys;  // of the keys that are seen, were there no later ones
  std::size_t b, h;
  bool drops;
  DropRow<S> drop;

  alignas(64) S keys[Tile::largest_width * Tile::score_stride];  // (D,keys)
  alignas(64) S values[Tile::keys * Tile::row_stride];           // (keys,D)
  alignas(64) S query[block_rows * Tile::row_stride];            // (group,D)
  alignas(64) S scores[block_rows * Tile::score_stride];         // (group,keys), then probabilities
  alignas(64) S output[output_room];                             // (queries,D)
  S largest[Tile::queries], sums[Tile::queries];

  static std::size_t rows_of(std::size_t width) { return HeadPieces<S>{width}.rows(output_room, Tile::queries); }

  void operator()(std::size_t first, std::size_t count) {
    const HeadPieces<S> pieces{shape.width};
    const std::size_t end = shape.causal ? first + count : end_of_keys;
    if (shape.window > 0) begin_with_nothing(count);
    for (std::size_t first_key = shape.begin(first) / Tile::keys * Tile::keys; first_key < end;
         first_key += Tile::keys) {
      const std::size_t key_count = end - first_key < Tile::keys ? end - first_key : Tile::keys;
      if (!pieces.is_wide()) {
        pack_keys(first_key, key_count, 0);
        pack_values(first_key, key_count, 0);
      }
      for (std::size_t i = 0; i < count; i += block_rows) {
        const std::size_t rows = count - i < block_rows ? count - i : block_rows;
        const std::size_t seen = visible(shape.causal, first + i + rows - 1, first_key, key_count);
        if (seen > 0 && shape.begin(first + i) < first_key + key_count) group(first, i, rows, first_key, seen);
      }
    }
    const HeadRows y_rows = HeadRows::of_y(shape, b, h);
    for (std::size_t i = 0; i < count; ++i) {
      const S factor = S(1) / sums[i];
      store_row(y + y_rows(first + i), output + i * pieces.stride(), factor, shape.width);
      softmax[first + i] = {largest[i], factor};
    }
  }

  /// Whether a tile of keys is the first that every row sees. Within a window rows begin to see at several tiles.
  bool is_first(std::size_t first_key) const { return first_key == 0 && shape.window == 0; }
  void begin_with_nothing(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      largest[i] = -std::numeric_limits<S>::infinity();
      sums[i] = S(0);
    }
    const std::size_t all = (count + Tile::spare_rows) * HeadPieces<S>{shape.width}.stride();
    for (std::size_t i = 0; i < (all < output_room ? all : output_room); ++i) output[i] = S(0);
  }

  void pack_keys(std::size_t first_key, std::size_t count, std::size_t piece) {
    const HeadPieces<S> pieces{shape.width};
    copy_columns(keys, kv, HeadRows::of_qkv(shape, b, h, 1).from(pieces.begin(piece)), first_key, count,
                 pieces.size(piece));
  }
  void pack_values(std::size_t first_key, std::size_t count, std::size_t piece) {
    const HeadPieces<S> pieces{shape.width};
    copy_rows(values, kv, HeadRows::of_qkv(shape, b, h, 2).from(pieces.begin(piece)), first_key, count,
              pieces.size(piece));
  }

  /// A few queries, as many as fit a block of registers, against the keys of a tile that the last query sees.
  void group(std::size_t first, std::size_t i, std::size_t rows, std::size_t first_key, std::size_t seen) {
    const HeadPieces<S> pieces{shape.width};
    for (std::size_t c = 0; c < pieces.count(); ++c) {
      if (pieces.is_wide()) pack_keys(first_key, seen, c);
      copy_rows(query, q, HeadRows::of_qkv(shape, b, h, 0).from(pieces.begin(c)), first + i, rows, pieces.size(c));
      multiply_tile<Strides{.a_row = Tile::row_stride, .a_depth = 1, .b_row = Tile::score_stride}>(
          rows, seen, pieces.size(c), query, {keys, block_columns<S>}, {scores, Tile::score_stride}, c > 0);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t valid = visible(shape.causal, first + i + r, first_key, seen);
      if (bias != nullptr)
        scale_and_add(scores + r * Tile::score_stride, shape.scale<S>(),
                      bias + shape.length - 1 + first_key - (first + i + r), valid);
      softmax_row(scores + r * Tile::score_stride, hidden(shape.begin(first + i + r), first_key), valid, seen, i + r,
                  is_first(first_key));
      if (drops && valid > 0) drop_row(scores + r * Tile::score_stride, first + i + r, first_key, valid);
    }
    for (std::size_t c = 0; c < pieces.count(); ++c) {
      if (pieces.is_wide()) pack_values(first_key, seen, c);
      multiply_tile<Strides{.a_row = Tile::score_stride, .a_depth = 1, .b_row = Tile::row_stride}>(
          rows, pieces.size(c), seen, scores, {values, block_columns<S>},
          {output + i * pieces.stride() + pieces.begin(c), pieces.stride()}, !is_first(first_key));
    }
  }

  /// Turns scores into probabilities relative to the largest score so far, and rescales the earlier sums to it.
  /// Of the first `valid` scores the first `hidden` count as −∞.
  void softmax_row(S* score, std::size_t hidden, std::size_t valid, std::size_t seen, std::size_t i, bool is_first) {
    const auto nothing = [](std::size_t) {};
    const auto zero = [&](std::size_t j) { store<S>(Vector<S>(S(0)), score + j); };
    if (valid <= hidden) return for_each_valid<S>(0, seen, [](std::size_t, auto) {}, zero);
    for (std::size_t j = 0; j < hidden; ++j) score[j] = -std::numeric_limits<S>::infinity();
    const Vector<S> scale = bias == nullptr ? shape.scale<S>() : S(1), least = -std::numeric_limits<S>::infinity();
    Vector<S> top = least;
    for_each_valid<S>(
        valid, 0, [&](std::size_t j, auto keep) { top = max(top, keep(load<S>(score + j), least)); }, nothing);
    S peak = maximum(top);
    if (!is_first && largest[i] > peak) peak = largest[i];
    Vector<S> sum_of = S(0);
    for_each_valid<S>(
        valid, seen,
        [&](std::size_t j, auto keep) {
          const Vector<S> p = keep(exp_or_zero<S>((load<S>(score + j) - Vector<S>(peak)) * scale), Vector<S>(S(0)));
          sum_of += p;
          store<S>(p, score + j);
        },
        zero);
    if (is_first) {
      sums[i] = sum(sum_of);
    } else {
      const Vector<S> before = exp_or_zero<S>(Vector<S>(largest[i] - peak) * scale);
      sums[i] = sums[i] * before[0] + sum(sum_of);
      S* const row = output + i * HeadPieces<S>{shape.width}.stride();
      for (std::size_t d = 0; d < shape.width; d += lanes<S>) store<S>(load<S>(row + d) * before, row + d);
    }
    largest[i] = peak;
  }

  void drop_row(S* p, std::size_t query_at, std::size_t first_key, std::size_t count) const {
    S factor[Tile::keys];
    drop.fill(factor, (std::uint64_t{h} * shape.length + query_at) * shape.keys() + first_key, count);
    for (std::size_t j = 0; j < count; ++j) p[j] *= factor[j];
  }
};

/// op::Attention, op::CrossAttention and, with a bias, op::BiasedAttention on the CPU; with lengths, each within them.
template <class T>
void attend_in_tiles(const auto& o, View<T> q, View<T> kv, const Memory& at, View<statistic_t<T>> bias = {},
                     View<std::int32_t> lengths = {}) {
  using Forward = AttentionForward<T>;
  check_head(o.shape.width);
  const T *const queries = at(q), *const keys = at(kv);
  T* const y = at(o.y);
  auto* const softmax = at(o.softmax);
  const auto* const biases = at.optional(bias);
  const std::int32_t* const length_of = at.optional(lengths);
  const std::size_t heads = o.shape.heads, length = o.shape.length;
  const std::size_t rows = Forward::rows_of(o.shape.width), tiles = (length + rows - 1) / rows;
  parallel_for(o.shape.batch * heads * tiles, [&](std::size_t chunk) {
    const std::size_t head = chunk / tiles, tile = chunk % tiles, b = head / heads;
    const std::size_t first = tile * rows;
    Forward forward;
    forward.q = queries;
    forward.kv = keys;
    forward.y = y;
    forward.softmax = softmax + head * length;
    forward.bias = biases == nullptr ? nullptr : biases + head % heads * o.shape.distances();
    forward.shape = o.shape;
    forward.end_of_keys = length_of == nullptr ? o.shape.keys() : op::seen_keys(length_of[b], o.shape.keys());
    forward.b = b;
    forward.h = head % heads;
    forward.drops = o.drop.threshold > 0;
    forward.drop = DropRow<typename Forward::S>::of(o.drop, random_of(o.drop, at), b);
    forward(first, length - first < rows ? length - first : rows);
  });
}

}  // namespace detail

/// op::Attention on the CPU. All arithmetic in S = statistic_t<T>; y is rounded once.
///
/// error   that of exp and of sums over keys in tiles of 64; probabilities below e^-80 of the row's largest count as 0
/// cost    some 330 KiB of stack per thread; keys are packed once for every 128 queries; tiles that causality hides are
///         skipped, in steps of a register block. Heads wider than 256: keys are packed again for every few queries
template <class T>
void compute(const op::Attention<T>& o, const Memory& at) {
  detail::attend_in_tiles(o, o.qkv, o.qkv, at);
}

template <class T>
void compute(const op::WindowAttention<T>& o, const Memory& at) {
  compute(o.attention, at);
}

/// One more addition for every score.
template <class T>
void compute(const op::BiasedAttention<T>& o, const Memory& at) {
  detail::attend_in_tiles(o.attention, o.attention.qkv, o.attention.qkv, at, o.bias);
}

template <class T>
void compute(const op::CrossAttention<T>& o, const Memory& at) {
  detail::attend_in_tiles(o, o.q, o.kv, at);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
