// regimen/kernel/attention_bias.hpp — attention whose scores depend on distances.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/drop_factor.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>

namespace regimen::kernel {

/// A thread for each number.
template <class S>
struct Kernel<op::AlibiBias<S>> final {
  static constexpr unsigned threads = detail::flat_threads;
  op::AlibiBias<S> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.heads * o.distances, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const bias = at(o.bias);
    for_pieces(block, o.heads * o.distances,
               [&](std::size_t place) { bias[place] = o(place / o.distances, place % o.distances); });
  }
};
template <class T>
struct Kernel<op::BucketBias<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = detail::flat_threads;
  op::BucketBias<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.heads * o.distances, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T* const table = at(o.table);
    S* const bias = at(o.bias);
    for_pieces(block, o.heads * o.distances, [&](std::size_t place) {
      const std::size_t bucket = o.buckets(place % o.distances, o.length);
      bias[place] = static_cast<S>(table[bucket * o.heads + place / o.distances]);
    });
  }
};

/// A thread for each number of the table, which adds all of its distances of all samples.
template <class S, class G>
struct Kernel<op::BucketBiasBackward<S, G>> final {
  static constexpr unsigned threads = detail::flat_threads;
  op::BucketBiasBackward<S, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.heads * o.buckets.count, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const S* const d_bias = at(o.d_bias);
    G* const d_table = at(o.d_table);
    for_pieces(block, o.heads * o.buckets.count, [&](std::size_t place) {
      const auto range = o.buckets.range(place / o.heads, o.length);
      S sum = S(0);
      for (std::size_t row = place % o.heads; row < o.batch * o.heads; row += o.heads)
        for (std::size_t i = range.begin; i < range.end; ++i) sum += d_bias[row * o.distances + i];
      d_table[place] = static_cast<G>(o.add ? static_cast<S>(d_table[place]) + sum : sum);
    });
  }
};

namespace detail {

/// Of the keys that a query sees.
template <class S>
struct BiasOfKeys final {
  const S* of_keys;
  REGIMEN_HD Biased<S> operator()(std::size_t j) const { return {of_keys[j]}; }
};

}  // namespace detail

/// As op::Attention and op::WindowAttention, with one more addition for each score.
template <class T>
struct Kernel<op::BiasedAttention<T>> final {
  using S = statistic_t<T>;
  using Alone = Kernel<op::Attention<T>>;
  static constexpr unsigned threads = Alone::threads, resident = 2;
  static constexpr std::size_t shared_bytes = Alone::shared_bytes;
  op::BiasedAttention<T> o;
  Memory at;

  constexpr unsigned blocks() const { return Alone{o.attention, at}.blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    using Rows = detail::HeadRows<const T>;
    const T* const qkv = at(o.attention.qkv);
    const op::AttentionShape& s = o.attention.shape;
    for (std::size_t row = block.index(); row < s.batch * s.heads * s.length; row += block.blocks()) {
      const std::size_t head = row / s.length, t = row % s.length, begin = s.begin(t);
      detail::DropFactor<S> drop(o.attention.drop, at, s, head);
      drop.first += begin;
      const detail::BiasOfKeys<S> bias{at(o.bias) + head % s.heads * s.distances() + s.length - 1 + begin - t};
      detail::attend<S>(block, s,
                        detail::QueryTensors<T>{.query = Rows::of_qkv(qkv, s, head, 0)(t),
                                                .keys = Rows::of_qkv(qkv, s, head, 1).from(begin),
                                                .values = Rows::of_qkv(qkv, s, head, 2).from(begin),
                                                .y = detail::HeadRows<T>::of_y(at(o.attention.y), s, head)(t),
                                                .softmax = at(o.attention.softmax) + row},
                        t, (s.causal ? t + 1 : s.length) - begin, drop, bias);
    }
  }
};

template <class T>
struct Kernel<op::BiasedAttendKept<T>> final {
  using S = statistic_t<T>;
  using Alone = Kernel<op::AttendKept<T>>;
  static constexpr unsigned threads = Alone::threads;
  static constexpr std::size_t shared_bytes = Alone::shared_bytes;
  op::BiasedAttendKept<T> o;
  Memory at;

  constexpr unsigned blocks() const { return Alone{o.kept, at}.blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const Alone alone{o.kept, at};
    alone.with_bias(block, [&](std::size_t head) {
      return detail::BiasOfKeys<S>{at(o.bias) + (head % o.kept.shape.heads + 1) * o.kept.window - o.kept.seen};
    });
  }
};

/// Launches 0 to 2 as of op::AttentionBackward; 3, a thread for each distance of each head, if d_bias is wanted.
///
/// cost    launch 3 computes scores and d_y vᵀ once more: 9 products instead of 7
template <class T, unsigned pass>
  requires(pass < 3)
struct Kernel<op::BiasedAttentionBackward<T>, pass> final
    : WrappedBackwardLaunch<op::BiasedAttentionBackward<T>, T, pass, KeysOf::distance> {
  static constexpr unsigned passes = 4;
};
template <class T>
struct Kernel<op::BiasedAttentionBackward<T>, 3> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 4, threads = 128, resident = 2;
  op::BiasedAttentionBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const {
    const op::AttentionShape& s = o.backward.shape;
    return o.d_bias.is_absent() ? 0 : blocks_for(s.batch * s.heads * s.distances(), threads);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = o.backward.shape.length;
    over(block, [length](std::size_t) { return length; });
  }
  /// keys_of(sample) is how many keys it has.
  REGIMEN_HD_UNCHECKED
  template <class Block, class KeysOfSample>
  REGIMEN_HD void over(const Block& block, const KeysOfSample& keys_of) const {
    using Rows = detail::HeadRows<const T>;
    const op::AttentionBackward<T>& b = o.backward;
    const op::AttentionShape& s = b.shape;
    const std::size_t distances = s.distances();
    const S scale = s.template scale<S>();
    S* const d_bias = at(o.d_bias);
    for_pieces(block, s.batch * s.heads * distances, [&](std::size_t place) {
      const std::size_t head = place / distances, i = place % distances;
      const Rows queries = Rows::of_qkv(at(b.qkv), s, head, 0), keys = Rows::of_qkv(at(b.qkv), s, head, 1),
                 values = Rows::of_qkv(at(b.qkv), s, head, 2), gradients = Rows::of_y(at(b.d_y), s, head);
      const op::SoftmaxRow<S>* const softmax = at(b.softmax) + head * s.length;
      const S* const row_dot = at(b.row_dot) + head * s.length;
      const detail::Biased<S> bias{at(o.bias)[head % s.heads * distances + i]};
      const detail::DropFactor<S> drop(b.drop, at, s, head);
      // Of positions u = t + i − (T − 1) from 0 to the last key.
      const std::size_t begin = i < s.length ? s.length - 1 - i : 0, all = keys_of(head / s.heads) + s.length - 1,
                        behind = all > i ? all - i : 0, end = behind < s.length ? behind : s.length;
      S sum = S(0);
      if (s.window == 0 || s.length - 1 < i + s.window)
        for (std::size_t t = begin; t < end; ++t) {
          const std::size_t u = t + i - (s.length - 1);
          const AttentionPair<T> pair({queries(t), gradients(t), softmax[t]}, keys(u), values(u), scale, drop(t, u),
                                      s.width, bias);
          sum += pair.d_score(pair.p, pair.d_p, row_dot[t], scale);
        }
      d_bias[place] = sum / scale;
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
