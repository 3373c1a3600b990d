// tests/kernel/attention_definition.hpp — the definition of attention in fp64, and operations on an arena.
#pragma once

#include "../engine/cpu/arena.hpp"

#include <regimen/core/operation.hpp>
#include <regimen/core/philox.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace test {

namespace op = regimen::op;

using regimen::Philox;
using regimen::statistic_t;

inline constexpr op::Random random_numbers{7, 3, 100};
inline constexpr std::uint64_t stream = 5;

struct Case {
  op::AttentionShape shape;
  std::uint32_t threshold = 0;
  /// Which weights are kept, of (B,H,T,T); empty: those of op::Drop.
  std::function<bool(std::size_t)> keeps{};
  /// What distances add to scores, (H,distances); empty: nothing.
  Values bias{};
  /// Where the keys of each sample end; empty: nowhere.
  std::vector<std::int32_t> lengths{};

  std::size_t tokens() const { return shape.batch * shape.length; }
  std::size_t channels() const { return shape.heads * shape.width; }
  /// Of another text: q, and then k and v.
  std::size_t qkv() const {
    if (shape.crosses())
      return tokens() * channels() + shape.batch * shape.key_length * 2 * shape.of_keys() * shape.width;
    return tokens() * shape.all_heads() * shape.width;
  }
  std::size_t rows() const { return tokens() * shape.heads; }
  /// What dropout multiplies a weight by.
  double factor(std::size_t b, std::size_t h, std::size_t t, std::size_t u) const {
    if (threshold == 0) return 1;
    const std::uint64_t element = (h * shape.length + t) * shape.keys() + u;
    const Philox::Words words = Philox::draw(Philox::mix(Philox::mix(random_numbers.seed, random_numbers.step), stream),
                                             element / 8, random_numbers.first_sample + b);
    const std::uint32_t bits = (words.word[element % 8 / 2] >> (element % 2 == 0 ? 0 : 16)) & 0xFFFF;
    const bool dropped =
        keeps ? !keeps(((b * shape.heads + h) * shape.length + t) * shape.length + u) : bits < threshold;
    return dropped ? 0 : 65536.0 / (65536.0 - threshold);
  }
  /// The keys that a query sees end before this one, and begin at shape.begin(t).
  std::size_t seen(std::size_t b, std::size_t t) const {
    return shape.causal ? t + 1 : lengths.empty() ? shape.keys() : static_cast<std::size_t>(lengths[b]);
  }
  /// Where q, k or v (part 0, 1, 2) of head h stands at a position, in tensors that lie one behind the other.
  std::size_t at(std::size_t b, std::size_t h, std::size_t i, std::size_t part) const {
    const op::AttentionShape& s = shape;
    if (s.crosses() && part == 0) return ((b * s.length + i) * s.heads + h) * s.width;
    if (s.crosses())
      return s.batch * s.length * s.heads * s.width +
             ((b * s.key_length + i) * 2 * s.of_keys() + s.place(h, part) - s.heads) * s.width;
    return ((b * s.length + i) * s.all_heads() + s.place(h, part)) * s.width;
  }
  /// What differences of scores are multiplied by, as op::SoftmaxRow has them.
  double rest() const { return bias.empty() ? shape.scale<double>() : 1; }
  std::size_t room() const {
    return (tokens() * channels() * 9 + (shape.crosses() ? 2 * qkv() : 0) + rows() * 4) * sizeof(double) + 4096;
  }
};

/// The definitions of op::Attention and op::AttentionBackward in fp64, with (T,T) matrices. sizes: what the terms of each
/// gradient add up to at most, where |d_y · v| <= D. slack: how much Σ y · d_y of the y that is stored, if it is given, moves
/// a gradient; it is taken from that where a tile does not have all keys of a row.
struct Definition {
  Values y, log_sum, d_qkv, sizes, slack, d_bias, bias_sizes, bias_slack;
  Values softmax;  // the largest score and the factor of each row, as op::SoftmaxRow

  Definition(const Case& c, const Values& qkv, const Values& d_y, const Values& stored_y)
      : y(d_y.size(), 0.0),
        log_sum(c.rows()),
        d_qkv(qkv.size(), 0.0),
        sizes(qkv.size(), 0.0),
        slack(qkv.size(), 0.0),
        d_bias(c.shape.batch * c.shape.heads * c.shape.distances(), 0.0),
        bias_sizes(d_bias),
        bias_slack(d_bias),
        softmax(2 * c.rows()) {
    const op::AttentionShape& s = c.shape;
    const double scale = s.scale<double>(), keep = 65536.0 / (65536.0 - c.threshold),
                 most = 2 * double(s.width) * keep * scale;
    for (std::size_t b = 0; b < s.batch; ++b)
      for (std::size_t h = 0; h < s.heads; ++h)
        for (std::size_t t = 0; t < s.length; ++t) {
          const auto at = [&](std::size_t i, std::size_t part) { return c.at(b, h, i, part); };
          const std::size_t seen = c.seen(b, t);
          const std::size_t to = ((b * s.length + t) * s.heads + h) * s.width;
          const std::size_t from = s.begin(t);
          Values p(seen);
          double total = 0, dot = 0, off = 0, largest = -INFINITY;
          for (std::size_t u = from; u < seen; ++u) {
            for (std::size_t d = 0; d < s.width; ++d) p[u] += qkv[at(t, 0) + d] * qkv[at(u, 1) + d] * scale;
            if (!c.bias.empty()) p[u] += c.bias[h * s.distances() + u + s.length - 1 - t];
            largest = std::fmax(largest, p[u]);
            total += p[u] = std::exp(p[u]);  // the scores are small enough
          }
          const std::size_t row = (b * s.heads + h) * s.length + t;
          log_sum[row] = std::log(total);
          softmax[2 * row] = largest / c.rest(), softmax[2 * row + 1] = std::exp(largest) / total;
          Values factors(seen);
          for (std::size_t u = from; u < seen; ++u) {
            factors[u] = c.factor(b, h, t, u);
            p[u] /= total;
            for (std::size_t d = 0; d < s.width; ++d) y[to + d] += p[u] * factors[u] * qkv[at(u, 2) + d];
          }
          for (std::size_t d = 0; d < s.width; ++d) {
            dot += y[to + d] * d_y[to + d];
            if (!stored_y.empty()) off += (stored_y[to + d] - y[to + d]) * d_y[to + d];
          }
          for (std::size_t u = from; u < seen; ++u) {
            double d_p = 0;
            for (std::size_t d = 0; d < s.width; ++d) {
              d_p += d_y[to + d] * qkv[at(u, 2) + d] * factors[u];
              d_qkv[at(u, 2) + d] += p[u] * factors[u] * d_y[to + d];
              sizes[at(u, 2) + d] += p[u] * factors[u];
            }
            const double d_score = p[u] * (d_p - dot) * scale, score_slack = p[u] * std::fabs(off) * scale;
            if (!c.bias.empty()) {
              const std::size_t i = (b * s.heads + h) * s.distances() + u + s.length - 1 - t;
              d_bias[i] += p[u] * (d_p - dot), bias_sizes[i] += p[u] * most / scale;
              bias_slack[i] += score_slack / scale;
            }
            for (std::size_t d = 0; d < s.width; ++d) {
              d_qkv[at(t, 0) + d] += d_score * qkv[at(u, 1) + d];
              d_qkv[at(u, 1) + d] += d_score * qkv[at(t, 0) + d];
              sizes[at(t, 0) + d] += p[u] * most;
              sizes[at(u, 1) + d] += p[u] * most;
              slack[at(t, 0) + d] += score_slack * std::fabs(qkv[at(u, 1) + d]);
              slack[at(u, 1) + d] += score_slack * std::fabs(qkv[at(t, 0) + d]);
            }
          }
        }
  }
};

/// Roundings to S, relative to the sizes of terms, where all numbers are below 1: a score is a sum of D products, at
/// most √D (D if it is not scaled), and what its distance adds, whose error is that of exp, twice (once in the total); d_y · v another D; then a sum over positions, and over
/// the heads that share a key, and a dozen single roundings.
inline double roundings(const op::AttentionShape& s) {
  const double width = double(s.width);
  return 2 * (width + 2) * (s.is_scaled ? std::sqrt(width) : width) + 2 * (width + 2) +
         double((s.length > s.keys() ? s.length : s.keys()) * s.group()) + 16;
}

/// log Σ exp of each row, of the two numbers that an operation has given.
inline Values log_sums(const Case& c, const Values& softmax) {
  Values result(softmax.size() / 2);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = softmax[2 * i] * c.rest() - std::log(softmax[2 * i + 1]);
  return result;
}
template <class S>
Values log_sums(const Case& c, const Arena& arena, regimen::View<op::SoftmaxRow<S>> softmax) {
  return log_sums(c, arena.get(regimen::View<S>{softmax.offset}, 2 * c.rows()));
}
template <class S>
regimen::View<op::SoftmaxRow<S>> put_softmax(Arena& arena, const Values& softmax) {
  return {arena.put<S>(softmax).offset};
}

template <class T>
auto forward(const Case& c) {
  return [=](Arena& arena) {
    op::Attention<T> o{};
    o.qkv = arena.put<T>(values<T>(c.qkv())), o.y = arena.room<T>(c.tokens() * c.channels());
    o.softmax = arena.room<op::SoftmaxRow<statistic_t<T>>>(c.rows()), o.shape = c.shape,
    o.drop = arena.drop(c.threshold, stream, random_numbers);
    return o;
  };
}
template <class T>
auto backward(const Case& c, const Values& y, const Values& softmax) {
  return [=](Arena& arena) {
    op::AttentionBackward<T> o{};
    o.qkv = arena.put<T>(values<T>(c.qkv())), o.y = arena.put<T>(y);
    o.d_y = arena.put<T>(values<T>(c.tokens() * c.channels(), 1, 2)), o.d_qkv = arena.room<T>(c.qkv());
    o.softmax = put_softmax<statistic_t<T>>(arena, softmax), o.row_dot = arena.room<statistic_t<T>>(c.rows());
    o.shape = c.shape, o.drop = arena.drop(c.threshold, stream, random_numbers);
    return o;
  };
}

}  // namespace test
// SPDX-License-Identifier: Apache-2.0
