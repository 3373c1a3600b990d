// regimen/engine/cpu/attention_kept.hpp — attention of one new position over cached keys and values.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention_tile.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>
#include <cstring>
#include <utility>

namespace regimen::cpu {

template <class T>
void compute(const op::KeepKeys<T>& o, const Memory& at) {
  const T* const qkv = at(o.qkv);
  T* const kept[2] = {at(o.keys), at(o.values)};
  const op::AttentionShape& s = o.shape;
  const std::size_t heads = s.batch * s.of_keys();
  for_chunks(heads * s.length * s.width, heads, [&](std::size_t head) {
    const std::size_t b = head / s.of_keys(), h = head % s.of_keys() * s.group();  // the first that reads it
    for (std::size_t part = 0; part < 2; ++part) {
      const detail::HeadRows rows = detail::HeadRows::of_qkv(s, b, h, 1 + part);
      T* const to = kept[part] + (head * o.window + o.first) * s.width;
      for (std::size_t t = 0; t < s.length; ++t) std::memcpy(to + t * s.width, qkv + rows(t), s.width * sizeof(T));
    }
  });
}

namespace detail {

/// One query of one head, four keys at a time.
template <class T>
struct AttentionToKept final {
  using S = statistic_t<T>;
  static constexpr std::size_t at_once = 4, tile = 64;

  std::size_t width;
  S score_scale;
  const S* bias;  // of the keys; null: none
  alignas(64) S query[op::AttentionShape::largest_width], output[op::AttentionShape::largest_width];
  alignas(64) S p[tile];

  /// p[j] = q · key j, for the keys of a tile
  void scores(const T* keys, std::size_t count) {
    const auto some = [&]<std::size_t... K>(std::size_t j, std::index_sequence<K...>) {
      const T* const from = keys + j * width;
      Vector<S> sums[sizeof...(K)] = {((void)K, Vector<S>(S(0)))...};
      for_each_vector<S>(0, width, [&](std::size_t d, auto n) {
        const Vector<S> q = load<S>(query + d, n);
        ((sums[K] = multiply_add(q, load<S>(from + K * width + d, n), sums[K])), ...);
      });
      ((p[j + K] = sum(sums[K])), ...);
    };
    std::size_t j = 0;
    for (; j + at_once <= count; j += at_once) some(j, std::make_index_sequence<at_once>{});
    for (; j < count; ++j) some(j, std::make_index_sequence<1>{});
  }

  /// output = output · before + Σ p[j] · value j
  void add_values(const T* values, std::size_t count, S before) {
    const auto some = [&]<std::size_t... K>(std::size_t j, S scale, std::index_sequence<K...>) {
      const T* const from = values + j * width;
      for_each_vector<S>(0, width, [&](std::size_t d, auto n) {
        Vector<S> value = load<S>(output + d, n) * Vector<S>(scale);
        ((value = multiply_add(Vector<S>(p[j + K]), load<S>(from + K * width + d, n), value)), ...);
        store<S>(value, output + d, n);
      });
    };
    std::size_t j = 0;
    for (; j + at_once <= count; j += at_once) some(j, j == 0 ? before : S(1), std::make_index_sequence<at_once>{});
    for (; j < count; ++j) some(j, j == 0 ? before : S(1), std::make_index_sequence<1>{});
  }

  void operator()(const T* q, const T* keys, const T* values, T* y, std::size_t seen) {
    const Vector<S> scales = bias == nullptr ? score_scale : S(1);
    for_each_vector<S>(0, width, [&](std::size_t d, auto n) {
      store<S>(load<S>(q + d, n), query + d, n);
      store<S>(Vector<S>(S(0)), output + d, n);
    });
    S largest = S(0), total = S(0);
    for (std::size_t first = 0; first < seen; first += tile) {
      const std::size_t count = seen - first < tile ? seen - first : tile;
      scores(keys + first * width, count);
      if (bias != nullptr) scale_and_add(p, score_scale, bias + first, count);
      const S before = add_to_softmax<S>(p, count, 0, scales, first == 0, largest, total)[0];
      add_values(values + first * width, count, before);
    }
    store_row(y, output, S(1) / total, width);
  }
};

/// op::AttendKept, and with a bias op::BiasedAttendKept.
template <class T>
void attend_kept(const op::AttendKept<T>& o, View<statistic_t<T>> bias, const Memory& at) {
  check_head(o.shape.width);
  const T *const qkv = at(o.qkv), *const keys = at(o.keys), *const values = at(o.values);
  const auto* const biases = at.optional(bias);
  T* const y = at(o.y);
  const op::AttentionShape& s = o.shape;
  const std::size_t heads = s.batch * s.heads;
  for_chunks(heads * o.seen * s.width, heads, [&](std::size_t head) {
    const std::size_t b = head / s.heads, h = head % s.heads, kept = head / s.group() * o.window * s.width;
    AttentionToKept<T> attention;
    attention.width = s.width;
    attention.score_scale = s.scale<typename AttentionToKept<T>::S>();
    attention.bias = biases == nullptr ? nullptr : biases + (h + 1) * o.window - o.seen;
    attention(qkv + HeadRows::of_qkv(s, b, h, 0)(0), keys + kept, values + kept, y + HeadRows::of_y(s, b, h)(0),
              o.seen);
  });
}

}  // namespace detail

/// op::AttendKept on the CPU. All arithmetic in S = statistic_t<T>; y is rounded once.
///
/// error   that of op::Attention
/// cost    reads the cached keys and values once; some 17 KiB of stack per thread (fp64: 33)
template <class T>
void compute(const op::AttendKept<T>& o, const Memory& at) {
  detail::attend_kept(o, {}, at);
}

template <class T>
void compute(const op::BiasedAttendKept<T>& o, const Memory& at) {
  detail::attend_kept(o.kept, o.bias, at);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
