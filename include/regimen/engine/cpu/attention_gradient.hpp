// regimen/engine/cpu/attention_gradient.hpp — the gradients of one head of attention, tile by tile, in a fixed order.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention_tile.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/parallel.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace regimen::cpu {

namespace detail {

/// Backward attention of one head: with p as op::SoftmaxRow has it, f the dropout factors and δ = row_dot,
///   d_v = (p ∘ f)ᵀ d_y,   d_s = p ∘ (f ∘ d_y vᵀ − δ) / √D,   d_q = d_s k,   d_k = d_sᵀ q.
/// A pass goes over key tiles, inside over the heads that share the keys, and inside over query tiles; every sum is
/// taken in that order.
template <class T>
struct AttentionGradient final : AttentionHead<T> {
  using Head = AttentionHead<T>;
  using Head::Head, Head::q, Head::kv, Head::bias, Head::shape, Head::pieces, Head::b, Head::h, Head::end_of_keys;
  using Head::scale, Head::drop;
  using typename Head::S, typename Head::Tile;
  static constexpr std::size_t query_room = (128 << 10) / sizeof(S);  // elements of d_q that a pass can keep

  const T* y;
  const T* d_y;
  T* d_queries;
  T* d_kv;                           // the same as d_queries where d_k and d_v stand beside it
  const op::SoftmaxRow<S>* softmax;  // of head h, the first of several that share keys, as row_dot
  S* row_dot;
  S* d_bias;               // of this head's distances; null: not wanted
  bool sums_rows = false;  // probabilities() does nothing but to add to δ

  alignas(64) S query_rows[Tile::keys * Tile::row_stride],
      gradient_rows[Tile::keys * Tile::row_stride];                                        // q, d_y (queries,D)
  alignas(64) S key_rows[Tile::keys * Tile::row_stride];                                   // k (keys,D)
  alignas(64) S key_columns[Tile::largest_width * Tile::score_stride];                     // kᵀ (D,keys)
  alignas(64) S value_columns[Tile::largest_width * Tile::score_stride];                   // vᵀ (D,keys)
  alignas(64) S p[Tile::keys * Tile::score_stride], d_s[Tile::keys * Tile::score_stride];  // (queries,keys)
  static constexpr std::size_t sums_room = (Tile::keys + Tile::spare_rows) * Tile::largest_width;
  alignas(64) S d_k[sums_room], d_v[sums_room];                            // (keys,D)
  alignas(64) S d_q[query_room + Tile::spare_rows * Tile::largest_width];  // (queries of the pass, D rounded up)

  /// The number of rows of a tile, and of tiles of so many positions.
  static std::size_t tile_rows(std::size_t width) { return HeadPieces<S>{width}.rows(sums_room, Tile::keys); }
  static std::size_t tiles(std::size_t length, std::size_t width) {
    return (length + tile_rows(width) - 1) / tile_rows(width);
  }
  std::size_t rows_in(std::size_t tile, std::size_t length) const {
    const std::size_t rows = tile_rows(shape.width), left = length - tile * rows;
    return left < rows ? left : rows;
  }
  static bool keeps_queries(
      const op::AttentionShape& s) {  // products round the rows of a tile up; a narrow head has spare rows for that
    const std::size_t rows = HeadPieces<S>{s.width}.is_wide() ? round_up(s.length, HeadPieces<S>::third) : s.length;
    return rows * round_up(s.width, lanes<S>) <= query_room;
  }

  /// δ of the rows of a query tile.
  void sum_rows(std::size_t query) {
    const std::size_t tile = tile_rows(shape.width), first = query * tile, queries = rows_in(query, shape.length);
    const HeadRows rows = HeadRows::of_y(shape, b, h);
    for (std::size_t t = first; t < first + queries; ++t) {
      Vector<S> total = S(0);
      for_each_vector<S>(0, shape.width, [&](std::size_t d, auto part) {
        total += load<S>(y + rows(t) + d, part) * load<S>(d_y + rows(t) + d, part);
      });
      row_dot[t] = is_sharp(t) ? S(0) : sum(total);
    }
    if (has_sharp(first, queries)) sum_sharp_rows(first, queries, tile);
  }
  /// Whether one probability of a row is nearly 1, and its keys are in several tiles.
  bool is_sharp(std::size_t t) const {
    const std::size_t tile = tile_rows(shape.width);
    return op::is_sharp(softmax[t]) && !holds_row(t, shape.begin(t) / tile * tile, tile);
  }
  bool has_sharp(std::size_t first, std::size_t rows) const {
    for (std::size_t t = first; t < first + rows; ++t)
      if (is_sharp(t)) return true;
    return false;
  }
  /// Of those rows of a tile δ is summed from the d_p of which it is the mean.
  void sum_sharp_rows(std::size_t first, std::size_t queries, std::size_t tile) {
    const std::size_t key_end = shape.causal ? first / tile + 1 : tiles(shape.keys(), shape.width);
    sums_rows = true;
    for (std::size_t key = shape.begin(first) / tile; key < key_end; ++key)
      for (std::size_t c = 0; c < pieces.count(); ++c) {
        pack_keys(key, c);
        pack_queries(first / tile, c);
        probabilities(first, queries, key * tile, rows_in(key, shape.keys()), c);
      }
    sums_rows = false;
  }

  void pack_keys(std::size_t tile, std::size_t piece) {
    const std::size_t first = tile * tile_rows(shape.width), count = rows_in(tile, shape.keys()),
                      size = pieces.size(piece);
    copy_rows(key_rows, kv, this->rows_of(1, piece), first, count, size);
    copy_columns(key_columns, kv, this->rows_of(1, piece), first, count, size);
    copy_columns(value_columns, kv, this->rows_of(2, piece), first, count, size);
  }
  void pack_queries(std::size_t tile, std::size_t piece) {
    const std::size_t first = tile * tile_rows(shape.width), count = rows_in(tile, shape.length),
                      size = pieces.size(piece);
    copy_rows(query_rows, q, this->rows_of(0, piece), first, count, size);
    copy_rows(gradient_rows, d_y, HeadRows::of_y(shape, b, h).from(pieces.begin(piece)), first, count, size);
  }

  /// d_bias sums d_s, which has the scale of scores in it.
  void begin_bias() {
    if (d_bias != nullptr) std::fill_n(d_bias, shape.distances(), S(0));
  }
  void end_bias() {
    if (d_bias != nullptr)
      for (std::size_t i = 0; i < shape.distances(); ++i) d_bias[i] /= scale;
  }

  void go_to_head(std::size_t to) {
    softmax = softmax + to * shape.length - h * shape.length;
    row_dot = row_dot + to * shape.length - h * shape.length;
    h = to;
  }

  /// The end of the query tiles, at most query_end, that see a key.
  std::size_t last_that_sees(std::size_t key, std::size_t query_end, std::size_t tile) const {
    if (shape.window == 0) return query_end;
    const std::size_t end = (key + shape.window - 1) / tile + 1;
    return end < query_end ? end : query_end;
  }

  /// Key tiles [key_begin, key_end) against query tiles [query_begin, query_end); writes d_k and d_v of the former if
  /// `for_keys`, d_q of the latter if `for_queries`.
  void pass(std::size_t key_begin, std::size_t key_end, std::size_t query_begin, std::size_t query_end, bool for_keys,
            bool for_queries) {
    const std::size_t d_q_stride = round_up(shape.width, lanes<S>), tile = tile_rows(shape.width);
    for (std::size_t key = key_begin; key < key_end; ++key) {
      const std::size_t keys = rows_in(key, shape.keys()),
                        first_query = shape.causal && key > query_begin ? key : query_begin,
                        last_query = last_that_sees(key * tile + keys - 1, query_end, tile);
      if (first_query >= last_query) continue;  // its gradient is another chunk's
      if (!pieces.is_wide()) pack_keys(key, 0);
      const std::size_t sharing = for_keys ? shape.group() : 1;
      for (std::size_t one = 0; one < sharing; ++one) {
        for (std::size_t query = first_query; query < last_query; ++query) {
          const std::size_t queries = rows_in(query, shape.length);
          if (!pieces.is_wide()) pack_queries(query, 0);
          const bool diagonal = shape.causal && query == key;
          for (std::size_t c = 0; c < pieces.count(); ++c) {
            if (pieces.is_wide()) {
              pack_keys(key, c);
              pack_queries(query, c);
            }
            probabilities(query * tile, queries, key * tile, keys, c);
          }
          for (std::size_t c = 0; c < pieces.count(); ++c) {
            if (pieces.is_wide() && for_keys) pack_queries(query, c);
            if (pieces.is_wide() && for_queries) pack_keys(key, c);
            if (for_keys) add_keys(queries, keys, diagonal, one > 0 || query > first_query, c);
            if (for_queries)
              add_queries(queries, keys, diagonal, d_q + (query - query_begin) * tile * d_q_stride + pieces.begin(c),
                          d_q_stride, key > shape.begin(query * tile) / tile, pieces.size(c));
          }
        }
        go_to_head(one + 1 < sharing ? h + 1 : h - one);
      }
      if (for_keys)
        for (std::size_t j = 0; j < keys; ++j) {
          const std::size_t position = key * tile + j;
          store_row(d_kv + this->rows_of(1, 0)(position), d_k + j * pieces.stride(), S(1), shape.width);
          store_row(d_kv + this->rows_of(2, 0)(position), d_v + j * pieces.stride(), S(1), shape.width);
        }
    }
    if (!for_queries) return;
    const std::size_t first = query_begin * tile,
                      last = query_end * tile < shape.length ? query_end * tile : shape.length;
    for (std::size_t t = first; t < last; ++t)
      store_row(d_queries + this->rows_of(0, 0)(t), d_q + (t - first) * d_q_stride, S(1), shape.width);
  }

  /// How many keys of a tile a query sees.
  std::size_t seen_of(std::size_t query, std::size_t first_key, std::size_t keys) const {
    const std::size_t seen = visible(shape.causal, query, first_key, keys);
    return first_key + seen <= end_of_keys ? seen : end_of_keys > first_key ? end_of_keys - first_key : 0;
  }

  /// p ∘ f and d_s of one pair of tiles, 0 where a query does not see a key; complete with the head's last piece.
  void probabilities(std::size_t first_query, std::size_t queries, std::size_t first_key, std::size_t keys,
                     std::size_t piece) {
    for (std::size_t i = 0; i < queries; i += block_rows) {
      const std::size_t rows = queries - i < block_rows ? queries - i : block_rows;
      if (sums_rows && !has_sharp(first_query + i, rows)) continue;
      const std::size_t seen = seen_of(first_query + i + rows - 1, first_key, keys);
      S* const scores = p + i * Tile::score_stride;
      S* const d_scores = d_s + i * Tile::score_stride;
      const auto product = [&](const S* a, const S* columns, S* to) {
        multiply_tile<Tile::to_scores>(rows, seen, pieces.size(piece), a + i * Tile::row_stride,
                                       {columns, block_columns<S>}, {to, Tile::score_stride}, piece > 0);
      };
      product(query_rows, key_columns, scores);
      product(gradient_rows, value_columns, d_scores);
      if (piece + 1 < pieces.count()) continue;
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t t = first_query + i + r, valid = seen_of(t, first_key, keys);
        if (bias != nullptr) scale_and_add(scores + r * Tile::score_stride, scale, this->bias_of(t, first_key), valid);
        const auto hide = [&](S score) {
          for (std::size_t j = 0; j < hidden(shape.begin(t), first_key) && j < keys; ++j)
            scores[r * Tile::score_stride + j] = score, d_scores[r * Tile::score_stride + j] = S(0);
        };
        hide(-std::numeric_limits<S>::infinity());
        gradient_row(scores + r * Tile::score_stride, d_scores + r * Tile::score_stride, t, first_key, valid, keys);
        hide(S(0));
        if (d_bias != nullptr && !sums_rows)
          write_row(d_bias + shape.length - 1 + first_key - t, d_scores + r * Tile::score_stride, valid, true);
      }
    }
  }

  /// Whether a tile has all keys that a query sees.
  bool holds_row(std::size_t t, std::size_t first_key, std::size_t keys) const {
    const std::size_t end = shape.causal ? t + 1 : end_of_keys;
    return shape.begin(t) >= first_key && end <= first_key + keys;
  }

  /// δ is the mean of d_p. Of a row in one tile, or if one probability is nearly 1, it is taken from these very d_p, so
  /// that it has their roundings: nothing else is left of their difference then.
  void gradient_row(S* p_row, S* d_row, std::size_t t, std::size_t first_key, std::size_t valid,
                    std::size_t keys) const {
    if (sums_rows && !is_sharp(t)) return;
    const bool drops = drop.threshold > 0;
    alignas(64) S factor[Tile::keys] = {};
    if (drops) drop.fill(factor, this->place(t, first_key), valid);
    const Vector<S> largest = softmax[t].largest, share = softmax[t].factor, scales = scale,
                    score_scale = bias == nullptr ? scale : S(1), zero = S(0);
    const auto rest = [&](std::size_t j) {
      store<S>(zero, p_row + j);
      store<S>(zero, d_row + j);
    };
    const auto probability_at = [&](std::size_t j, auto keep) {
      return keep(exp_or_zero<S>((load<S>(p_row + j) - largest) * score_scale) * share, zero);
    };
    const auto d_probability_at = [&](std::size_t j) {  // rounded as in δ, whatever a compiler contracts
      const Vector<S> d = load<S>(d_row + j);
      return drops ? multiply_add(d, load<S>(factor + j), zero) : d;
    };
    const auto write = [&](std::size_t j, auto keep, Vector<S> probability, Vector<S> d_probability, Vector<S> dot) {
      store<S>(keep(drops ? probability * load<S>(factor + j) : probability, zero), p_row + j);
      store<S>(keep(probability * (d_probability - dot) * scales, zero), d_row + j);
    };
    if (!sums_rows && !holds_row(t, first_key, keys)) {
      const Vector<S> dot = row_dot[t];
      return for_each_valid<S>(
          valid, keys,
          [&](std::size_t j, auto keep) { write(j, keep, probability_at(j, keep), d_probability_at(j), dot); }, rest);
    }
    Vector<S> sums = zero;
    for_each_valid<S>(
        valid, keys,
        [&](std::size_t j, auto keep) {
          const Vector<S> probability = probability_at(j, keep), d_probability = keep(d_probability_at(j), zero);
          sums = multiply_add(probability, d_probability, sums);
          store<S>(probability, p_row + j);
          store<S>(d_probability, d_row + j);
        },
        rest);
    if (sums_rows) {
      row_dot[t] += sum(sums);
      return;
    }
    const Vector<S> dot = sum(sums);
    for_each_valid<S>(
        valid, 0, [&](std::size_t j, auto keep) { write(j, keep, load<S>(p_row + j), load<S>(d_row + j), dot); },
        [](std::size_t) {});
  }

  /// d_v += (p ∘ f)ᵀ d_y and d_k += d_sᵀ q; on the diagonal, keys from j on are seen by queries from j on.
  void add_keys(std::size_t queries, std::size_t keys, bool diagonal, bool add, std::size_t piece) {
    const std::size_t width = pieces.size(piece), stride = pieces.stride();
    const auto to = [&](std::size_t j, std::size_t rows, std::size_t from) {
      const auto product = [&](const S* left, const S* right, S* sums) {
        multiply_tile<Tile::of_turned_scores>(rows, width, queries - from, left + from * Tile::score_stride + j,
                                              {right + from * Tile::row_stride, block_columns<S>},
                                              {sums + j * stride + pieces.begin(piece), stride}, add);
      };
      product(p, gradient_rows, d_v);
      product(d_s, query_rows, d_k);
    };
    if (!diagonal) return to(0, keys, 0);
    for (std::size_t j = 0; j < keys; j += block_rows) to(j, keys - j < block_rows ? keys - j : block_rows, j);
  }

  /// d_q += d_s k; on the diagonal, queries up to i see keys up to i.
  void add_queries(std::size_t queries, std::size_t keys, bool diagonal, S* to, std::size_t stride, bool add,
                   std::size_t width) {
    for (std::size_t i = 0; i < queries; i += block_rows) {
      const std::size_t rows = queries - i < block_rows ? queries - i : block_rows;
      multiply_tile<Tile::of_scores>(rows, width, diagonal ? i + rows : keys, d_s + i * Tile::score_stride,
                                     {key_rows, block_columns<S>}, {to + i * stride, stride}, add);
    }
  }
};

}  // namespace detail
}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
