// regimen/kernel/attention_bias.hpp — attention whose scores depend on distances.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/drop_factor.hpp>

#include <cstddef>

namespace regimen::kernel {

/// bias (heads,distances) = −slope(head) · |u − t|, in S. A thread for each number.
template <class S>
REGIMEN_HD constexpr std::size_t pieces(const op::AlibiBias<S>& o, Launch<0>) {
  return o.heads * o.distances;
}
template <class S>
REGIMEN_HD void compute(const op::AlibiBias<S>& o, const Memory& at, std::size_t place, Launch<0>) {
  at(o.bias)[place] = o(place / o.distances, place % o.distances);
}
/// bias (heads,distances) = the table's number (buckets,heads) of the bucket that a distance is in. A thread for each
/// number.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::BucketBias<T>& o, Launch<0>) {
  return o.heads * o.distances;
}
template <class T>
REGIMEN_HD void compute(const op::BucketBias<T>& o, const Memory& at, std::size_t place, Launch<0>) {
  const std::size_t bucket = o.buckets(place % o.distances, o.length);
  at(o.bias)[place] = static_cast<statistic_t<T>>(at(o.table)[bucket * o.heads + place / o.distances]);
}

/// A thread for each number of the table, which adds all of its distances of all samples.
template <class S, class G>
REGIMEN_HD constexpr std::size_t pieces(const op::BucketBiasBackward<S, G>& o, Launch<0>) {
  return o.heads * o.buckets.count;
}
template <class S, class G>
REGIMEN_HD void compute(const op::BucketBiasBackward<S, G>& o, const Memory& at, std::size_t place, Launch<0>) {
  const auto range = o.buckets.range(place / o.heads, o.length);
  S sum = S(0);
  for (std::size_t row = place % o.heads; row < o.batch * o.heads; row += o.heads)
    for (std::size_t i = range.begin; i < range.end; ++i) sum += at(o.d_bias)[row * o.distances + i];
  G& d = at(o.d_table)[place];
  d = static_cast<G>(o.add ? static_cast<S>(d) + sum : sum);
}

template <class T>
struct Kernel<op::BiasedAttention<T>> final : AttentionLaunch<op::BiasedAttention<T>, T, KeysOf::distance> {};
template <class T>
struct Kernel<op::BiasedAttendKept<T>> final : AttendKeptLaunch<op::BiasedAttendKept<T>, T> {};

/// The fourth launch of a gradient, if d_bias is wanted: a thread for each distance of each head of each sample.
///
/// d_bias[head,i] = Σ of d_scores over the pairs (t,u) with u = t + i − (T − 1), of t from the first to the last.
/// Scores have the bias behind the scale, so this is d_s without 1 / √D: d_score has it, and the sum is divided by it
/// once. Pairs that the window or the text's length excludes are left out.
///
/// cost    computes scores and d_y vᵀ once more: 9 products instead of 7
template <class Operation, class T>
struct BiasGradientLaunch {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 4, threads = 128, resident = 2;
  Operation o;
  Memory at;

  constexpr unsigned blocks() const {
    const op::AttentionShape& s = detail::attention_of(o).shape;
    return detail::whole_of(o).d_bias.is_absent() ? 0 : blocks_for(s.batch * s.heads * s.distances(), threads);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    using Rows = detail::HeadRows<const T>;
    const auto& whole = detail::whole_of(o);
    const op::AttentionBackward<T>& b = whole.backward;
    const op::AttentionShape& s = b.shape;
    const std::size_t distances = s.distances();
    const S scale = s.template scale<S>();
    S* const d_bias = at(whole.d_bias);
    for_pieces(block, s.batch * s.heads * distances, [&](std::size_t place) {
      const std::size_t head = place / distances, i = place % distances;
      const Rows queries = Rows::of_qkv(at(b.qkv), s, head, 0), keys = Rows::of_qkv(at(b.qkv), s, head, 1),
                 values = Rows::of_qkv(at(b.qkv), s, head, 2), gradients = Rows::of_y(at(b.d_y), s, head);
      const op::SoftmaxRow<S>* const softmax = at(b.softmax) + head * s.length;
      const S* const row_dot = at(b.row_dot) + head * s.length;
      const detail::BiasedScore<S> bias{at(whole.bias)[head % s.heads * distances + i]};
      const detail::DropFactor<S> drop(b.drop, at, s, head);
      // Of positions u = t + i − (T − 1) from 0 to the last key.
      const std::size_t begin = i < s.length ? s.length - 1 - i : 0, all = key_count(head / s.heads) + s.length - 1,
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

 private:
  REGIMEN_HD constexpr std::size_t key_count([[maybe_unused]] std::size_t sample) const {
    const op::AttentionShape& s = detail::attention_of(o).shape;
    if constexpr (detail::has_lengths<Operation>) return op::seen_keys(at(o.lengths)[sample], s.keys());
    else return s.length;
  }
};

template <class T, unsigned pass>
struct Kernel<op::BiasedAttentionBackward<T>, pass> final
    : AttentionBackwardLaunch<op::BiasedAttentionBackward<T>, T, pass, KeysOf::distance> {
  static constexpr unsigned passes = 4;
};
template <class T>
struct Kernel<op::BiasedAttentionBackward<T>, 3> final : BiasGradientLaunch<op::BiasedAttentionBackward<T>, T> {};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
