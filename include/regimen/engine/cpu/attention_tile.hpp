// regimen/engine/cpu/attention_tile.hpp — the tiles of queries and keys that forward and backward attention share.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/random.hpp>
#include <regimen/engine/cpu/register_tile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace regimen::cpu::detail {

/// The sizes of tiles. Strides are constants, so that products need no registers for them; they are no powers of two.
template <class S>
struct AttentionTile final {
  static constexpr std::size_t largest_width = 256;                          // of a head, or of a piece of a wider one
  static constexpr std::size_t keys = 256 / sizeof(S);                       // and queries, in backward
  static constexpr std::size_t queries = 512 / sizeof(S);                    // in forward: each packs the keys again
  static constexpr std::size_t row_stride = largest_width + 64 / sizeof(S);  // of (·,D)
  static constexpr std::size_t score_stride = keys + 64 / sizeof(S);         // of (·,keys)
  static constexpr std::size_t spare_rows = block_rows;                      // products round rows up
  // Products of rows (·,D) and columns (D,keys); of scores and rows; of the scores' columns and rows.
  static constexpr Strides to_scores{.a_row = row_stride, .a_depth = 1, .b_row = score_stride},
      of_scores{.a_row = score_stride, .a_depth = 1, .b_row = row_stride},
      of_turned_scores{.a_row = 1, .a_depth = score_stride, .b_row = row_stride};
};

/// How a head is split into tiles: up to 256 channels whole, a wider head in pieces of 256. A tile of a wide
/// head has fewer rows, so that their sums over all channels fit the same memory; its operands are packed
/// again, piece by piece, for each use.
template <class S>
struct HeadPieces final {
  static constexpr std::size_t piece = AttentionTile<S>::largest_width, third = block_rows / 3;
  std::size_t width = 0;

  bool is_wide() const { return width > piece; }
  std::size_t count() const { return (width + piece - 1) / piece; }
  std::size_t begin(std::size_t c) const { return c * piece; }
  std::size_t size(std::size_t c) const { return width - c * piece < piece ? width - c * piece : piece; }
  /// Elements between the sums of two rows, and how many rows fit `room` elements: `most` of a narrow head.
  std::size_t stride() const { return is_wide() ? round_up(width, lanes<S>) : piece; }
  std::size_t rows(std::size_t room, std::size_t most) const {
    if (!is_wide()) return most;
    const std::size_t fit = room / stride() / third * third;
    return fit < most ? fit : most;
  }
};

/// A wider head would not fit the tiles: the rule heads_at_most_2048 refuses it in a
/// recipe, so here it ends the program.
inline void check_head(std::size_t width) {
  if (width <= op::AttentionShape::largest_width) return;
  std::fputs("regimen: attention on the CPU takes heads of at most 2048 channels\n", stderr);
  std::abort();
}

/// Where a row of one head begins: q, k, v or y of position t.
struct HeadRows final {
  std::size_t begin = 0, stride = 0;

  std::size_t operator()(std::size_t t) const { return begin + t * stride; }
  HeadRows from(std::size_t channel) const { return {begin + channel, stride}; }
  /// part 0, 1, 2 for what head h reads of q, k, v in (B,T,H+2K,D), or of q in (B,T,H,D) and k, v in (B,S,2K,D)
  static HeadRows of_qkv(const op::AttentionShape& s, std::size_t b, std::size_t h, std::size_t part) {
    if (s.crosses() && part == 0) return of_y(s, b, h);
    if (s.crosses())
      return {(b * s.key_length * 2 * s.of_keys() + s.place(h, part) - s.heads) * s.width, 2 * s.of_keys() * s.width};
    return {(b * s.length * s.all_heads() + s.place(h, part)) * s.width, s.all_heads() * s.width};
  }
  /// in (B,T,H,D)
  static HeadRows of_y(const op::AttentionShape& s, std::size_t b, std::size_t h) {
    return {(b * s.length * s.heads + h) * s.width, s.heads * s.width};
  }
};

/// `count` rows from row `first` on, widened; rows that products read beyond them are 0. Not inlined,
/// for a pass packs in several places.
template <class S, class T>
[[gnu::noinline]] void copy_rows(S* to, const T* from, HeadRows rows, std::size_t first, std::size_t count,
                                 std::size_t width) {
  copy_rows(to, AttentionTile<S>::row_stride, from + rows(first), rows.stride, count, width);
}

/// The rows of copy_rows as columns: to[d][j].
template <class S, class T>
[[gnu::noinline]] void copy_columns(S* to, const T* from, HeadRows rows, std::size_t first, std::size_t count,
                                    std::size_t width) {
  transpose(to, AttentionTile<S>::score_stride, from + rows(first), rows.stride, count, width);
}

/// Rows of S times `factor` to T, rounded once.
template <class S, class T>
void store_row(T* to, const S* from, S factor, std::size_t width) {
  for_each_vector<S>(0, width,
                     [&](std::size_t d, auto part) { store<S>(load<S>(from + d) * Vector<S>(factor), to + d, part); });
}

/// How many of `keys` keys from `first_key` on position `query` sees.
inline std::size_t visible(bool causal, std::size_t query, std::size_t first_key, std::size_t keys) {
  if (!causal || query + 1 >= first_key + keys) return keys;
  return query + 1 > first_key ? query + 1 - first_key : 0;
}

/// How many keys from `first_key` on a row does not see that begins to see at key `begin`.
inline std::size_t hidden(std::size_t begin, std::size_t first_key) {
  return begin > first_key ? begin - first_key : 0;
}

/// score[u] = score[u] · scale + bias[u], for `count` keys
template <class S>
void scale_and_add(S* score, S scale, const S* bias, std::size_t count) {
  for_each_vector<S>(0, count, [&](std::size_t u, auto n) {
    store<S>(multiply_add(load<S>(score + u, n), Vector<S>(scale), load<S>(bias + u, n)), score + u, n);
  });
}

/// e^x where x > −80, else exactly 0: avoids subnormal numbers, with which some processors
/// compute a hundred times slower.
template <class S>
Vector<S> exp_or_zero(Vector<S> x) {
  const Vector<S> least = S(-80);
  const Vector<S> kept = max(x, least);  // NaN where x is
  return select(kept == least, Vector<S>(S(0)), exp(kept));
}

template <class S, std::size_t... Lane>
Mask<S> below(S count, std::index_sequence<Lane...>) {
  const typename Vector<S>::Native index = {static_cast<S>(Lane)...};
  return Vector<S>(index) < Vector<S>(count);
}

/// each(j, keep) for the vectors of a row that hold its first `valid` elements, with keep(x, y) = x where valid and y
/// elsewhere; rest(j) for the vectors from there to `end`. Whole vectors: a partial store
/// would stall the load that follows.
template <class S, class Each, class Rest>
void for_each_valid(std::size_t valid, std::size_t end, const Each& each, const Rest& rest) {
  std::size_t j = 0;
  for (; j + lanes<S> <= valid; j += lanes<S>) each(j, [](Vector<S> x, Vector<S>) { return x; });
  if (j < valid) {
    const Mask<S> mask = below<S>(static_cast<S>(valid - j), std::make_index_sequence<lanes<S>>{});
    each(j, [&](Vector<S> x, Vector<S> y) { return select(mask, x, y); });
    j += lanes<S>;
  }
  for (; j < end; j += lanes<S>) rest(j);
}

/// Turns the first `valid` scores of a row into probabilities relative to the row's largest so far, and those from
/// there to `end` into 0. Adds them to `total`, which it rescales; returns the factor that rescales, 0 for the first
/// tile.
template <class S>
Vector<S> add_to_softmax(S* score, std::size_t valid, std::size_t end, Vector<S> scale, bool is_first, S& largest,
                         S& total) {
  const Vector<S> least = -std::numeric_limits<S>::infinity(), none = S(0);
  Vector<S> top = least, added = none;
  for_each_valid<S>(
      valid, 0, [&](std::size_t j, auto keep) { top = max(top, keep(load<S>(score + j), least)); }, [](std::size_t) {});
  S peak = maximum(top);
  if (!is_first && largest > peak) peak = largest;
  for_each_valid<S>(
      valid, end,
      [&](std::size_t j, auto keep) {
        const Vector<S> p = keep(exp_or_zero<S>((load<S>(score + j) - Vector<S>(peak)) * scale), none);
        added += p;
        store<S>(p, score + j);
      },
      [&](std::size_t j) { store<S>(none, score + j); });
  const Vector<S> before = is_first ? none : exp_or_zero<S>(Vector<S>(largest - peak) * scale);
  total = is_first ? sum(added) : total * before[0] + sum(added);
  largest = peak;
  return before;
}

/// The dropout of attention probabilities: factors 0 or keep for the elements of one row.
template <class S>
struct DropRow final {
  std::uint64_t key = 0, sample = 0;
  std::uint32_t threshold = 0;
  S keep = 1;

  static DropRow of(const op::Drop& drop, const op::Random& random, std::size_t b) {
    return {random_key(random, drop.stream), random.first_sample + b, drop.threshold,
            static_cast<S>(drop.keep_factor())};
  }
  /// factor[u] for elements first, first + 1, ... of the sample
  void fill(S* factor, std::uint64_t first, std::size_t count) const {
    for (std::size_t u = 0; u < count;) {
      const std::uint64_t element = first + u;
      const Philox::Words words = Philox::draw(key, element / 8, sample);
      for (std::size_t i = static_cast<std::size_t>(element % 8); i < 8 && u < count; ++i, ++u)
        factor[u] = ((words.word[i / 2] >> (16 * (i % 2))) & 0xFFFFu) < threshold ? S(0) : keep;
    }
  }
};

/// A head of attention: what the tiles of its queries, of their gradients and of those of keys share.
template <class T>
struct AttentionHead {
  using S = statistic_t<T>;
  using Tile = AttentionTile<S>;

  const T *q, *kv;  // the same where k and v stand beside q
  const S* bias;    // (H,distances); null: none
  op::AttentionShape shape;
  HeadPieces<S> pieces{shape.width};
  S scale = shape.scale<S>();     // of scores
  std::size_t b, h, end_of_keys;  // of the keys that are seen, were there no later ones
  DropRow<S> drop;

  AttentionHead(const auto& o, View<T> queries, View<T> keys, View<S> biases, View<std::int32_t> lengths,
                const Memory& at, std::size_t head)
      : q(at(queries)),
        kv(at(keys)),
        bias(at.optional(biases)),
        shape(o.shape),
        b(head / shape.heads),
        h(head % shape.heads),
        end_of_keys(lengths.is_absent() ? shape.keys() : op::seen_keys(at(lengths)[b], shape.keys())),
        drop(DropRow<S>::of(o.drop, random_of(o.drop, at), b)) {}

  /// A piece of the rows of q, k or v.
  HeadRows rows_of(std::size_t part, std::size_t piece) const {
    return HeadRows::of_qkv(shape, b, h, part).from(pieces.begin(piece));
  }
  /// What distances add to the scores of a query, from a key on.
  const S* bias_of(std::size_t query, std::size_t key) const {
    return bias + h * shape.distances() + shape.length - 1 + key - query;
  }
  /// The number of a score among those of the sample's heads.
  std::uint64_t place(std::size_t query, std::size_t key) const {
    return (std::uint64_t{h} * shape.length + query) * shape.keys() + key;
  }
};

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
