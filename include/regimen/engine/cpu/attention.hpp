// regimen/engine/cpu/attention.hpp — softmax(q kᵀ / √D) v, tile by tile; with its gradient, of texts that end
// before their tensor does, and with what distances add to the scores.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention_gradient.hpp>
#include <regimen/engine/cpu/attention_tile.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen::cpu {

namespace detail {

/// Forward attention of one head for as many queries as tile_rows says.
template <class T>
struct AttentionForward final : AttentionHead<T> {
  using Head = AttentionHead<T>;
  using Head::Head, Head::q, Head::kv, Head::bias, Head::shape, Head::pieces, Head::b, Head::h, Head::end_of_keys;
  using Head::scale, Head::drop;
  using typename Head::S, typename Head::Tile;
  static constexpr std::size_t output_room = (Tile::queries + Tile::spare_rows) * Tile::largest_width;

  T* y;
  op::SoftmaxRow<S>* softmax;  // of this head

  alignas(64) S keys[Tile::largest_width * Tile::score_stride];  // (D,keys)
  alignas(64) S values[Tile::keys * Tile::row_stride];           // (keys,D)
  alignas(64) S query[block_rows * Tile::row_stride];            // (group,D)
  alignas(64) S scores[block_rows * Tile::score_stride];         // (group,keys), then probabilities
  alignas(64) S output[output_room];                             // (queries,D)
  S largest[Tile::queries], sums[Tile::queries];

  static std::size_t tile_rows(std::size_t width) { return HeadPieces<S>{width}.rows(output_room, Tile::queries); }

  void operator()(std::size_t first, std::size_t count) {
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
    std::fill_n(largest, count, -std::numeric_limits<S>::infinity());
    std::fill_n(sums, count, S(0));
    const std::size_t all = (count + Tile::spare_rows) * pieces.stride();
    std::fill_n(output, (std::min)(all, output_room), S(0));
  }

  void pack_keys(std::size_t first_key, std::size_t count, std::size_t piece) {
    copy_columns(keys, kv, this->rows_of(1, piece), first_key, count, pieces.size(piece));
  }
  void pack_values(std::size_t first_key, std::size_t count, std::size_t piece) {
    copy_rows(values, kv, this->rows_of(2, piece), first_key, count, pieces.size(piece));
  }

  /// A few queries, as many as fit a block of registers, against the keys of a tile that the last query sees.
  void group(std::size_t first, std::size_t i, std::size_t rows, std::size_t first_key, std::size_t seen) {
    for (std::size_t c = 0; c < pieces.count(); ++c) {
      if (pieces.is_wide()) pack_keys(first_key, seen, c);
      copy_rows(query, q, this->rows_of(0, c), first + i, rows, pieces.size(c));
      multiply_tile<Tile::to_scores>(rows, seen, pieces.size(c), query, {keys, block_columns<S>},
                                     {scores, Tile::score_stride}, c > 0);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t valid = visible(shape.causal, first + i + r, first_key, seen);
      if (bias != nullptr)
        scale_and_add(scores + r * Tile::score_stride, scale, this->bias_of(first + i + r, first_key), valid);
      softmax_row(scores + r * Tile::score_stride, hidden(shape.begin(first + i + r), first_key), valid, seen, i + r,
                  is_first(first_key));
      if (drop.threshold > 0 && valid > 0) drop_row(scores + r * Tile::score_stride, first + i + r, first_key, valid);
    }
    for (std::size_t c = 0; c < pieces.count(); ++c) {
      if (pieces.is_wide()) pack_values(first_key, seen, c);
      multiply_tile<Tile::of_scores>(rows, pieces.size(c), seen, scores, {values, block_columns<S>},
                                     {output + i * pieces.stride() + pieces.begin(c), pieces.stride()},
                                     !is_first(first_key));
    }
  }

  /// Turns scores into probabilities relative to the largest score so far, and rescales the earlier sums to it.
  /// Of the first `valid` scores the first `hidden` count as −∞.
  void softmax_row(S* score, std::size_t hidden, std::size_t valid, std::size_t seen, std::size_t i, bool is_first) {
    if (valid <= hidden) {
      std::fill_n(score, round_up(seen, lanes<S>), S(0));
      return;
    }
    for (std::size_t j = 0; j < hidden; ++j) score[j] = -std::numeric_limits<S>::infinity();
    const Vector<S> scales = bias == nullptr ? scale : S(1),
                    before = add_to_softmax<S>(score, valid, seen, scales, is_first, largest[i], sums[i]);
    if (is_first) return;
    S* const row = output + i * pieces.stride();
    for (std::size_t d = 0; d < shape.width; d += lanes<S>) store<S>(load<S>(row + d) * before, row + d);
  }

  void drop_row(S* p, std::size_t query_at, std::size_t first_key, std::size_t count) const {
    S factor[Tile::keys];
    drop.fill(factor, this->place(query_at, first_key), count);
    for (std::size_t j = 0; j < count; ++j) p[j] *= factor[j];
  }
};

/// op::Attention, op::CrossAttention and, with a bias, op::BiasedAttention on the CPU; with lengths, each within them.
template <class T>
void attend_in_tiles(const auto& o, View<T> q, View<T> kv, const Memory& at, View<statistic_t<T>> bias,
                     View<std::int32_t> lengths) {
  using Forward = AttentionForward<T>;
  check_head(o.shape.width);
  T* const y = at(o.y);
  auto* const softmax = at(o.softmax);
  const std::size_t length = o.shape.length, rows = Forward::tile_rows(o.shape.width),
                    tiles = (length + rows - 1) / rows;
  parallel_for(o.shape.batch * o.shape.heads * tiles, [&](std::size_t chunk) {
    const std::size_t head = chunk / tiles, first = chunk % tiles * rows;
    Forward forward(o, q, kv, bias, lengths, at, head);
    forward.y = y;
    forward.softmax = softmax + head * length;
    forward(first, length - first < rows ? length - first : rows);
  });
}

/// A tensor, and its gradient.
template <class T>
struct WithGradient final {
  View<T> values, gradient;
};

/// op::AttentionBackward, op::CrossAttentionBackward and, with a bias, op::BiasedAttentionBackward on the CPU; with
/// lengths, each within them.
template <class T>
void differentiate_in_tiles(const auto& o, WithGradient<T> queries, WithGradient<T> keys, const Memory& at,
                            WithGradient<statistic_t<T>> bias, View<std::int32_t> lengths) {
  using Gradient = AttentionGradient<T>;
  using S = typename Gradient::S;
  check_head(o.shape.width);
  S* const d_biases = at.optional(bias.gradient);
  const std::size_t heads = o.shape.batch * o.shape.heads, tiles = Gradient::tiles(o.shape.length, o.shape.width),
                    key_tiles = Gradient::tiles(o.shape.keys(), o.shape.width);
  // What a chunk does is data: the passes are compiled once.
  struct Work {
    bool rows, keys, queries;
    std::size_t cut;  // chunks of a head, or of a key head
  };
  const std::size_t group = o.shape.group();
  const auto on_heads = [&](const Work& work) {
    const std::size_t at_once = work.keys ? group : 1;
    parallel_for(heads / at_once * work.cut, [&](std::size_t chunk) {
      const std::size_t head = chunk / work.cut * at_once, tile = chunk % work.cut;
      Gradient gradient(o, queries.values, keys.values, bias.values, lengths, at, head);
      gradient.y = at(o.y);
      gradient.d_y = at(o.d_y);
      gradient.d_queries = at(queries.gradient);
      gradient.d_kv = at(keys.gradient);
      gradient.softmax = at(o.softmax) + head * o.shape.length;
      gradient.row_dot = at(o.row_dot) + head * o.shape.length;
      gradient.d_bias = d_biases == nullptr || !work.queries ? nullptr : d_biases + head * o.shape.distances();
      if (work.rows)
        for (std::size_t own = tile; own < (work.cut == 1 ? tiles : tile + 1); ++own) gradient.sum_rows(own);
      if (!work.keys && !work.queries) return;
      const bool own_keys = !work.queries, own_queries = !work.keys;  // those of its tile alone
      gradient.begin_bias();
      // Where a chunk is a whole head, all of its tiles.
      for (std::size_t own = tile; own < (own_queries && work.cut == 1 ? tiles : tile + 1); ++own)
        gradient.pass(own_keys ? own : 0, own_keys || (own_queries && o.shape.causal) ? own + 1 : key_tiles,
                      own_queries ? own : 0, own_queries ? own + 1 : tiles, work.keys, work.queries);
      gradient.end_bias();
    });
  };
  if (group == 1 && ((tiles == 1 && key_tiles == 1) || (heads >= 16 && Gradient::keeps_queries(o.shape))))
    return on_heads({true, true, true, 1});
  on_heads({true, false, false, tiles});
  on_heads({false, true, false, key_tiles});
  on_heads({false, false, true, d_biases == nullptr ? tiles : 1});  // one chunk sums a head's distances
}

}  // namespace detail

/// op::Attention on the CPU. All arithmetic in S = statistic_t<T>; y is rounded once.
///
/// error   that of exp and of sums over keys in tiles of 64; probabilities below e^-80 of the row's largest count as 0
/// cost    some 330 KiB of stack per thread; keys are packed once for every 128 queries; tiles that causality hides are
///         skipped, in steps of a register block. Heads wider than 256: keys are packed again for every few queries
template <class T>
void compute(const op::Attention<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  detail::attend_in_tiles(o, o.qkv, o.qkv, at, {}, lengths);
}

template <class T>
void compute(const op::WindowAttention<T>& o, const Memory& at) {
  compute(o.attention, at);
}

/// One more addition for every score.
template <class T>
void compute(const op::BiasedAttention<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  detail::attend_in_tiles(o.attention, o.attention.qkv, o.attention.qkv, at, o.bias, lengths);
}

template <class T>
void compute(const op::CrossAttention<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  detail::attend_in_tiles(o, o.q, o.kv, at, {}, lengths);
}

/// op::AttentionBackward on the CPU. All arithmetic in S = statistic_t<T>; d_qkv is rounded once.
///
/// error   as forward; δ is taken from the stored, rounded y, where a query sees keys of several tiles and none of its
///         probabilities is above 1 − 2⁻¹⁰
/// cost    one pass per head if there are many heads and a head's d_q fits the stack; otherwise two passes, which split
///         a head into tiles but compute the scores twice: 7 products per tile instead of 5. Some 700 KiB of stack per
///         thread. Queries of which a row has one probability above that: 2 products more. Heads wider than 256: tiles
///         of fewer rows, packed again for every pair of tiles. Heads that share keys: two passes
template <class T>
void compute(const op::AttentionBackward<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  detail::differentiate_in_tiles<T>(o, {o.qkv, o.d_qkv}, {o.qkv, o.d_qkv}, at, {}, lengths);
}

template <class T>
void compute(const op::SharedAttentionBackward<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  compute(o.backward, at, lengths);
}

template <class T>
void compute(const op::WindowAttentionBackward<T>& o, const Memory& at) {
  compute(o.backward, at);
}

/// cost    two passes cut a head of more than a tile into chunks for d_k alone, if d_bias is wanted
template <class T>
void compute(const op::BiasedAttentionBackward<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  const op::AttentionBackward<T>& b = o.backward;
  detail::differentiate_in_tiles<T>(b, {b.qkv, b.d_qkv}, {b.qkv, b.d_qkv}, at, {o.bias, o.d_bias}, lengths);
}

template <class T>
void compute(const op::CrossAttentionBackward<T>& o, const Memory& at, View<std::int32_t> lengths = {}) {
  detail::differentiate_in_tiles<T>(o, {o.q, o.d_q}, {o.kv, o.d_kv}, at, {}, lengths);
}

/// cost   tiles of keys behind a sample's length are skipped; in the gradient they cost as others
template <class Whole>
  requires op::reads_all_keys<Whole>
void compute(const op::WithinLengths<Whole>& o, const Memory& at) {
  compute(o.whole, at, o.lengths);
}

/// error   exact
inline void compute(const op::CountTokens& o, const Memory& at) {
  const std::int32_t* tokens = at(o.tokens);
  std::int32_t* const lengths = at(o.lengths);
  for (std::size_t b = 0; b < o.samples; ++b, tokens += o.length) {
    std::size_t count = o.length;
    while (count > 1 && tokens[count - 1] == o.padding) --count;
    lengths[b] = static_cast<std::int32_t>(count);
  }
}

// ---- what distances add to the scores

template <class S>
void compute(const op::AlibiBias<S>& o, const Memory& at) {
  S* const bias = at(o.bias);
  for_chunks(o.heads * o.distances, o.heads, [&](std::size_t h) {
    for (std::size_t i = 0; i < o.distances; ++i) bias[h * o.distances + i] = o(h, i);
  });
}

template <class T>
void compute(const op::BucketBias<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const table = at(o.table);
  S* const bias = at(o.bias);
  for (std::size_t i = 0; i < o.distances; ++i) {
    const T* const row = table + o.buckets(i, o.length) * o.heads;
    for (std::size_t h = 0; h < o.heads; ++h) bias[h * o.distances + i] = static_cast<S>(row[h]);
  }
}

/// error   one sum in S for each number of the table, one rounding
template <class S, class G>
void compute(const op::BucketBiasBackward<S, G>& o, const Memory& at) {
  const S* const d_bias = at(o.d_bias);
  G* const d_table = at(o.d_table);
  for_chunks(o.batch * o.heads * o.distances, o.heads * o.buckets.count, [&](std::size_t place) {
    const auto range = o.buckets.range(place / o.heads, o.length);
    S sum = S(0);
    for (std::size_t row = place % o.heads; row < o.batch * o.heads; row += o.heads)
      for (std::size_t i = range.begin; i < range.end; ++i) sum += d_bias[row * o.distances + i];
    d_table[place] = static_cast<G>(o.add ? static_cast<S>(d_table[place]) + sum : sum);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
