// regimen/kernel/composed_attention.hpp — between the products of composed attention: softmax and its gradient.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/drop_factor.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/rows.hpp>

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

/// Row `row` of a piece: its place among all heads, and the keys that its query sees.
struct ScoreRow final {
  std::size_t head, query, seen;

  REGIMEN_HD ScoreRow(const op::AttentionShape& s, const HeadRun& run, std::size_t row)
      : head(run.first + row / s.length * run.step), query(row % s.length), seen(s.causal ? query + 1 : s.length) {}
};

/// Zero for the runs of which the query sees nothing.
REGIMEN_HD_UNCHECKED
template <unsigned n, class Team, class T>
REGIMEN_HD void write_unseen(const Team& team, std::size_t seen, std::size_t length, T* row) {
  for (std::size_t u = (seen + n - 1) / n * n + std::size_t{team.thread()} * n; u < length;
       u += std::size_t{team.threads()} * n) {
    write(Pack<T, n>{}, row + u);
  }
}

/// Eight weights at a time, as many as one random number serves.
template <unsigned threads>
using ScoreRows = RowPlan<8, threads>;

}  // namespace detail

/// A warp or a block for each row. Scores of up to 4096 keys are read once, others three times, from the caches but for
/// the first.
template <class T>
struct Kernel<AttentionWeights<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  AttentionWeights<T> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = o.shape.length;
    const S scale = o.shape.template scale<S>();
    constexpr S lowest = -std::numeric_limits<S>::infinity();
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const detail::ScoreRow at_row(o.shape, o.run, row);
      const S* const scores = at(o.scores) + row * length;
      T* const weights = at(o.weights) + row * length;
      auto scaled = part_of_row<n, held>(team, at_row.seen, [&](std::size_t u) {
        auto s = detail::read<n>(scores + u);
        for (unsigned k = 0; k < n; ++k) s.at[k] = u + k < at_row.seen ? s.at[k] * scale : lowest;
        return s;
      });
      S most = lowest, total = S(0);
      scaled.for_each([&](std::size_t, const Pack<S, n>& s) {
        for (unsigned k = 0; k < n; ++k) most = Largest{}(most, s.at[k]);
      });
      most = team.template combined<Largest>(most);
      scaled.for_each([&](std::size_t u, const Pack<S, n>& s) {
        for (unsigned k = 0; k < n; ++k) total += u + k < at_row.seen ? detail::exp_or_zero(s.at[k] - most) : S(0);
      });
      total = team.template combined<Sum>(total);
      const S factor = S(1) / total;
      const detail::DropFactor<S> drop(o.drop, at, o.shape, at_row.head);
      scaled.for_each([&](std::size_t u, const Pack<S, n>& s) {
        const unsigned kept = drop.template kept<n>(at_row.query, u);
        Pack<T, n> w;
        for (unsigned k = 0; k < n; ++k)
          w.at[k] = static_cast<T>(
              u + k < at_row.seen ? detail::exp_or_zero(s.at[k] - most) * factor * drop.factor(kept >> k & 1u) : S(0));
        detail::write(w, weights + u);
      });
      detail::write_unseen<n>(team, at_row.seen, length, weights);
      if (team.thread() == 0) at(o.log_sum)[at_row.head * length + at_row.query] = most + std::log(total);
    });
  }

 private:
  REGIMEN_HD detail::ScoreRows<threads> rows() const {
    return {o.run.count * o.shape.length, o.shape.length, are_aligned(at(o.scores), at(o.weights))};
  }
};

/// A warp or a block for each row. Rows of up to 4096 keys are read, and their random numbers drawn, once; others
/// twice.
template <class T>
struct Kernel<AttentionWeightsBackward<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  AttentionWeightsBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = o.shape.length;
    const S scale = o.shape.template scale<S>();
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const detail::ScoreRow at_row(o.shape, o.run, row);
      const S *const scores = at(o.scores) + row * length, *const d_weights = at(o.d_weights) + row * length;
      T *const weights = at(o.weights) + row * length, *const d_scores = at(o.d_scores) + row * length;
      const S log_sum = at(o.log_sum)[at_row.head * length + at_row.query];
      const detail::DropFactor<S> drop(o.drop, at, o.shape, at_row.head);
      auto part = part_of_row<n, held>(team, at_row.seen, [&](std::size_t u) {
        Run<n> run{detail::read<n>(scores + u), detail::read<n>(d_weights + u), drop.template kept<n>(at_row.query, u)};
        for (unsigned k = 0; k < n; ++k) {
          const bool is_seen = u + k < at_row.seen;
          run.p.at[k] = is_seen ? detail::exp_or_zero(run.p.at[k] * scale - log_sum) : S(0);
          run.d.at[k] = is_seen ? drop.factor(run.kept >> k & 1u) * run.d.at[k] : S(0);
        }
        return run;
      });
      S dot = S(0);
      part.for_each([&](std::size_t, const Run<n>& run) {
        for (unsigned k = 0; k < n; ++k) dot += run.p.at[k] * run.d.at[k];
      });
      dot = team.template combined<Sum>(dot);
      part.for_each([&](std::size_t u, const Run<n>& run) {
        Pack<T, n> w, d;
        for (unsigned k = 0; k < n; ++k) {
          w.at[k] = static_cast<T>(run.p.at[k] * drop.factor(run.kept >> k & 1u));
          d.at[k] = static_cast<T>(u + k < at_row.seen ? run.p.at[k] * (run.d.at[k] - dot) * scale : S(0));
        }
        detail::write(w, weights + u);
        detail::write(d, d_scores + u);
      });
      detail::write_unseen<n>(team, at_row.seen, length, weights);
      detail::write_unseen<n>(team, at_row.seen, length, d_scores);
    });
  }

 private:
  /// p, and the dropout factors · d_weights.
  template <unsigned n>
  struct Run {
    Pack<S, n> p, d;
    unsigned kept;
  };
  REGIMEN_HD detail::ScoreRows<threads> rows() const {
    return {o.run.count * o.shape.length, o.shape.length,
            are_aligned(at(o.scores), at(o.d_weights)) && are_aligned(at(o.weights), at(o.d_scores))};
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
