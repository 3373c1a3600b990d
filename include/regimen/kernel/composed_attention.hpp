// regimen/kernel/composed_attention.hpp — between the products of composed attention: softmax and its gradient.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/block.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

namespace regimen::kernel {

/// Heads at equal distances: head i of them is head `first + i · step` of all, counted b · H + h.
struct HeadRun {
  std::size_t first = 0, step = 1, count = 0;
};

/// weights = softmax(scores / √D) with dropout, zero at what a query does not see; log_sum as op::Attention
///   scores, weights (count,T,T), which may be the same memory if S is T
template <class T>
struct AttentionWeights final {
  static constexpr const char* name = "attention_weights";
  using S = statistic_t<T>;
  View<S> scores;
  View<T> weights;
  View<S> log_sum;
  op::AttentionShape shape;
  op::Drop drop{};
  HeadRun run{};
};

/// With p = exp(scores / √D − log_sum), f the dropout factors and δ = Σ p · f · d_weights of a row:
///   weights = p · f,   d_scores = p · (f · d_weights − δ) / √D, zero at what a query does not see
///   scores, d_weights, weights, d_scores (count,T,T); weights may be scores, and d_scores d_weights, if S is T
template <class T>
struct AttentionWeightsBackward final {
  static constexpr const char* name = "attention_weights_backward";
  using S = statistic_t<T>;
  View<S> scores, d_weights, log_sum;
  View<T> weights, d_scores;
  op::AttentionShape shape;
  op::Drop drop{};
  HeadRun run{};
};

namespace detail {

/// body(row, head, query, seen) for the rows of this block: `row` of the piece, `head` of all.
REGIMEN_HD_UNCHECKED
template <class Block, class Body>
REGIMEN_HD void for_score_rows(const Block& block, const op::AttentionShape& s, const HeadRun& run, const Body& body) {
  for (std::size_t row = block.index(); row < run.count * s.length; row += block.blocks()) {
    const std::size_t head = run.first + row / s.length * run.step, query = row % s.length;
    body(row, head, query, s.causal ? query + 1 : s.length);
  }
}

}  // namespace detail

/// A block for each row. Scores are read three times, from the caches but for the first.
template <class T>
struct Kernel<AttentionWeights<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  AttentionWeights<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.run.count * o.shape.length, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = o.shape.length;
    const S scale = S(1) / std::sqrt(static_cast<S>(o.shape.width));
    constexpr S lowest = -std::numeric_limits<S>::infinity();
    detail::for_score_rows(
        block, o.shape, o.run, [&](std::size_t row, std::size_t head, std::size_t query, std::size_t seen) {
          const S* const scores = at(o.scores) + row * length;
          T* const weights = at(o.weights) + row * length;
          S most = lowest, total = S(0);
          for (std::size_t u = block.thread(); u < seen; u += block.threads())
            most = Largest{}(most, scores[u] * scale);
          most = combined<Largest>(block, most);
          for (std::size_t u = block.thread(); u < seen; u += block.threads())
            total += detail::exp_or_zero(scores[u] * scale - most);
          total = combined<Sum>(block, total);
          const S factor = S(1) / total;
          const detail::DropFactor<S> drop(o.drop, at, o.shape, head);
          for (std::size_t u = block.thread(); u < length; u += block.threads())
            weights[u] = static_cast<T>(
                u < seen ? detail::exp_or_zero(scores[u] * scale - most) * factor * drop(query, u) : S(0));
          if (block.thread() == 0) at(o.log_sum)[head * length + query] = most + std::log(total);
        });
  }
};

/// A block for each row.
template <class T>
struct Kernel<AttentionWeightsBackward<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  AttentionWeightsBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.run.count * o.shape.length, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = o.shape.length;
    const S scale = S(1) / std::sqrt(static_cast<S>(o.shape.width));
    detail::for_score_rows(
        block, o.shape, o.run, [&](std::size_t row, std::size_t head, std::size_t query, std::size_t seen) {
          const S *const scores = at(o.scores) + row * length, *const d_weights = at(o.d_weights) + row * length;
          T *const weights = at(o.weights) + row * length, *const d_scores = at(o.d_scores) + row * length;
          const S log_sum = at(o.log_sum)[head * length + query];
          const detail::DropFactor<S> drop(o.drop, at, o.shape, head);
          const auto weight = [&](std::size_t u) { return detail::exp_or_zero(scores[u] * scale - log_sum); };
          S dot = S(0);
          for (std::size_t u = block.thread(); u < seen; u += block.threads())
            dot += weight(u) * drop(query, u) * d_weights[u];
          dot = combined<Sum>(block, dot);
          for (std::size_t u = block.thread(); u < length; u += block.threads()) {
            const bool is_seen = u < seen;
            const S p = is_seen ? weight(u) : S(0), f = is_seen ? drop(query, u) : S(0);
            const S d_score = is_seen ? p * (f * d_weights[u] - dot) * scale : S(0);
            weights[u] = static_cast<T>(p * f);
            d_scores[u] = static_cast<T>(d_score);
          }
        });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
