// regimen/engine/cpu/attention_backward.hpp — the gradient of attention: its heads, and tiles of them, on threads.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention_gradient.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/parallel.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::cpu {

namespace detail {

/// A tensor, and its gradient.
template <class T>
struct WithGradient final {
  View<T> values, gradient;
};

/// op::AttentionBackward, op::CrossAttentionBackward and, with a bias, op::BiasedAttentionBackward on the CPU; with
/// lengths, each within them.
template <class T>
void differentiate_in_tiles(const auto& o, WithGradient<T> queries, WithGradient<T> keys, const Memory& at,
                            WithGradient<statistic_t<T>> bias = {}, View<std::int32_t> lengths = {}) {
  using Gradient = AttentionGradient<T>;
  using S = typename Gradient::S;
  check_head(o.shape.width);
  const std::int32_t* const length_of = at.optional(lengths);
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
      Gradient gradient;
      gradient.q = at(queries.values);
      gradient.kv = at(keys.values);
      gradient.y = at(o.y);
      gradient.d_y = at(o.d_y);
      gradient.d_queries = at(queries.gradient);
      gradient.d_kv = at(keys.gradient);
      gradient.softmax = at(o.softmax) + head * o.shape.length;
      gradient.row_dot = at(o.row_dot) + head * o.shape.length;
      gradient.bias = at.optional(bias.values);
      gradient.d_bias = d_biases == nullptr || !work.queries ? nullptr : d_biases + head * o.shape.distances();
      gradient.shape = o.shape;
      gradient.b = head / o.shape.heads;
      gradient.end_of_keys =
          length_of == nullptr ? o.shape.keys() : op::seen_keys(length_of[gradient.b], o.shape.keys());
      gradient.h = head % o.shape.heads;
      gradient.drops = o.drop.threshold > 0;
      gradient.drop = DropRow<S>::of(o.drop, random_of(o.drop, at), gradient.b);
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

/// op::AttentionBackward on the CPU. All arithmetic in S = statistic_t<T>; d_qkv is rounded once.
///
/// error   as forward; δ is taken from the stored, rounded y, where a query sees keys of several tiles and none of its
///         probabilities is above 1 − 2⁻¹⁰
/// cost    one pass per head if there are many heads and a head's d_q fits the stack; otherwise two passes, which split
///         a head into tiles but compute the scores twice: 7 products per tile instead of 5. Some 700 KiB of stack per
///         thread. Queries of which a row has one probability above that: 2 products more. Heads wider than 256: tiles of
///         fewer rows, packed again for every pair of tiles. Heads that share
///         keys: two passes
template <class T>
void compute(const op::AttentionBackward<T>& o, const Memory& at) {
  detail::differentiate_in_tiles<T>(o, {o.qkv, o.d_qkv}, {o.qkv, o.d_qkv}, at);
}

template <class T>
void compute(const op::SharedAttentionBackward<T>& o, const Memory& at) {
  compute(o.backward, at);
}

template <class T>
void compute(const op::WindowAttentionBackward<T>& o, const Memory& at) {
  compute(o.backward, at);
}

/// cost    two passes cut a head of more than a tile into chunks for d_k alone, if d_bias is wanted
template <class T>
void compute(const op::BiasedAttentionBackward<T>& o, const Memory& at) {
  const op::AttentionBackward<T>& b = o.backward;
  detail::differentiate_in_tiles<T>(b, {b.qkv, b.d_qkv}, {b.qkv, b.d_qkv}, at, {o.bias, o.d_bias});
}

template <class T>
void compute(const op::CrossAttentionBackward<T>& o, const Memory& at) {
  detail::differentiate_in_tiles<T>(o, {o.q, o.d_q}, {o.kv, o.d_kv}, at);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
