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
#include <cstdint>
#include <limits>

namespace regimen::kernel {

/// Heads at equal distances: head i of them is head `first + i · step` of all, counted b · H + h.
struct HeadRun {
  std::size_t first = 0, step = 1, count = 0;
};

/// weights = softmax(scores / √D) with dropout, zero at what a query does not see
///   scores, weights (count,T,T), which may be the same memory if S is T
///   more   whether there may be a window, keys of another text, then (count,T,S), and what follows here: it would cost
///          the others registers
///   bias (H,distances) and lengths (B), each absent if there are none, as of op::BiasedAttention and op::WithinLengths
template <class T, bool more = false>
struct AttentionWeights final {
  static constexpr const char* name = "attention_weights";
  using S = statistic_t<T>;
  View<S> scores;
  View<T> weights;
  op::AttentionShape shape;
  op::Drop drop{};
  HeadRun run{};
  View<S> bias{};
  View<std::int32_t> lengths{};
};

/// With p = softmax(scores / √D), f the dropout factors and δ = Σ p · f · d_weights of a row:
///   weights = p · f,   d_scores = p · (f · d_weights − δ) / √D, zero at what a query does not see
///   scores, d_weights, weights, d_scores (count,T,T); weights may be scores, and d_scores d_weights, if S is T
///   more, bias, lengths   as above
/// The softmax is that of these scores, not forward's: a library's product of another number of heads may round others.
template <class T, bool more = false>
struct AttentionWeightsBackward final {
  static constexpr const char* name = "attention_weights_backward";
  using S = statistic_t<T>;
  View<S> scores, d_weights;
  View<T> weights, d_scores;
  op::AttentionShape shape;
  op::Drop drop{};
  HeadRun run{};
  View<S> bias{};
  View<std::int32_t> lengths{};
};

/// d_bias[b,h,i] = Σ_t d_scores[t,u] · √D over the pairs of distance i, of the heads of a piece, as
/// op::BiasedAttentionBackward has it
///   d_scores (count,T,T)   d_bias (B,H,distances)
template <class T>
struct AttentionBiasBackward final {
  static constexpr const char* name = "attention_bias_backward";
  using S = statistic_t<T>;
  View<T> d_scores;
  View<S> d_bias;
  op::AttentionShape shape;
  HeadRun run{};
};

namespace detail {

/// How many keys there are in a row of scores.
template <bool more>
REGIMEN_HD constexpr std::size_t columns_of(const op::AttentionShape& s) {
  return more ? s.keys() : s.length;
}
/// Row `row` of a piece: its place among all heads, and the keys that its query sees.
///   more   whether they may begin behind the first, or end at a length, or have a bias
template <class S, bool more>
struct ScoreRow final {
  std::size_t head, query, seen, begin = 0;
  const S* bias = nullptr;

  template <class Operation>
  REGIMEN_HD ScoreRow(const Operation& o, [[maybe_unused]] const Memory& at, std::size_t row)
      : head(o.run.first + row / o.shape.length * o.run.step),
        query(row % o.shape.length),
        seen(o.shape.causal ? query + 1 : columns_of<more>(o.shape)) {
    if constexpr (more) {
      begin = o.shape.begin(query);
      if (const std::int32_t* const lengths = at.optional(o.lengths); lengths != nullptr)
        seen = op::seen_keys(lengths[head / o.shape.heads], o.shape.keys());
      bias = at.optional(o.bias);
      if (bias != nullptr) bias += head % o.shape.heads * o.shape.distances() + o.shape.length - 1 - query;
    }
  }
  REGIMEN_HD bool sees(std::size_t u) const { return (!more || u >= begin) && u < seen; }
  /// As Unbiased and Biased have them.
  REGIMEN_HD S score(S product, S scale, std::size_t u) const {
    return !more || bias == nullptr || u >= seen ? product : std::fma(product, scale, bias[u]);
  }
  REGIMEN_HD S rest(S scale) const { return !more || bias == nullptr ? scale : S(1); }
};
template <bool more, class S>
REGIMEN_HD DropFactor<S> drop_of_row(const op::Drop& drop, const Memory& at, const op::AttentionShape& s,
                                     std::size_t head) {
  if constexpr (more)
    if (s.crosses()) return CrossDropFactor<S>(drop, at, s, head);
  return DropFactor<S>(drop, at, s, head);
}

/// exp((s − largest) / √D) of one key of a run, zero if the query does not see it.
REGIMEN_HD_UNCHECKED
template <class S, class Row>
REGIMEN_HD S power_of(S score, S largest, S scale, const Row& at_row, std::size_t u) {
  return at_row.sees(u) ? exp_or_zero((score - largest) * at_row.rest(scale)) : S(0);
}

/// The softmax of a row.   scores(run)   of a run of `part`; the powers take their places in runs that are held
REGIMEN_HD_UNCHECKED
template <unsigned n, bool held, class S, class Team, class Part, class Row, class Scores>
REGIMEN_HD op::SoftmaxRow<S> softmax_of(const Team& team, Part& part, const Row& at_row, S scale,
                                        const Scores& scores) {
  S most = -std::numeric_limits<S>::infinity(), total = S(0);
  part.for_each([&](std::size_t u, auto& run) {
    for (unsigned k = 0; k < n; ++k)
      if (at_row.sees(u + k)) most = kernel::Largest{}(most, scores(run).at[k]);
  });
  most = team.template combined<kernel::Largest>(most);
  part.for_each([&](std::size_t u, auto& run) {
    for (unsigned k = 0; k < n; ++k) {
      const S power = power_of(scores(run).at[k], most, scale, at_row, u + k);
      if constexpr (held) scores(run).at[k] = power;
      total += power;
    }
  });
  total = team.template combined<Sum>(total);
  return {most, S(1) / total};
}

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

/// A warp or a block for each row. Scores of up to 4096 keys are read once, others three times: the first time from
/// memory, then from the caches.
template <class T, bool more>
struct Kernel<AttentionWeights<T, more>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128, resident = 5;  // without a number the compiler spilled on sm_90
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  AttentionWeights<T, more> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = detail::columns_of<more>(o.shape);
    const S scale = o.shape.template scale<S>();
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const detail::ScoreRow<S, more> at_row(o, at, row);
      const S* const scores = at(o.scores) + row * length;
      T* const weights = at(o.weights) + row * length;
      auto part = part_of_row<n, held>(team, at_row.seen, [&](std::size_t u) {
        auto s = detail::read<n>(scores + u);
        for (unsigned k = 0; k < n; ++k) s.at[k] = at_row.score(s.at[k], scale, u + k);
        return s;
      });
      const detail::DropFactor<S> drop = detail::drop_of_row<more, S>(o.drop, at, o.shape, at_row.head);
      const auto draw = [&](std::size_t u) { return drop.template kept<n>(at_row.query, u); };
      const unsigned drawn = part.bits(draw);
      const auto softmax =
          detail::softmax_of<n, held>(team, part, at_row, scale, [](auto& run) -> auto& { return run; });
      part.for_each_numbered([&]<unsigned r>(std::size_t u, const Pack<S, n>& s) {
        const unsigned kept = held ? drawn >> n * r : draw(u);
        Pack<T, n> w;
        for (unsigned k = 0; k < n; ++k) {
          const S power = held ? s.at[k] : detail::power_of(s.at[k], softmax.largest, scale, at_row, u + k);
          w.at[k] = static_cast<T>(at_row.sees(u + k) ? power * softmax.factor * drop.factor(kept >> k & 1u) : S(0));
        }
        detail::write(w, weights + u);
      });
      detail::write_unseen<n>(team, at_row.seen, length, weights);
    });
  }

 private:
  REGIMEN_HD detail::ScoreRows<threads> rows() const {
    return {o.run.count * o.shape.length, detail::columns_of<more>(o.shape), are_aligned(at(o.scores), at(o.weights))};
  }
};

/// A warp or a block for each row. Rows of up to 4096 keys are read, and their random numbers drawn, once; others four
/// times.
template <class T, bool more>
struct Kernel<AttentionWeightsBackward<T, more>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  AttentionWeightsBackward<T, more> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t length = detail::columns_of<more>(o.shape);
    const S scale = o.shape.template scale<S>();
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const detail::ScoreRow<S, more> at_row(o, at, row);
      const S *const scores = at(o.scores) + row * length, *const d_weights = at(o.d_weights) + row * length;
      T *const weights = at(o.weights) + row * length, *const d_scores = at(o.d_scores) + row * length;
      const detail::DropFactor<S> drop = detail::drop_of_row<more, S>(o.drop, at, o.shape, at_row.head);
      auto part = part_of_row<n, held>(team, at_row.seen, [&](std::size_t u) {
        Run<n> run{detail::read<n>(scores + u), detail::read<n>(d_weights + u), drop.template kept<n>(at_row.query, u)};
        for (unsigned k = 0; k < n; ++k) {
          run.p.at[k] = at_row.score(run.p.at[k], scale, u + k);
          run.d.at[k] =
              at_row.sees(u + k) ? detail::rounded_product(drop.factor(run.kept >> k & 1u), run.d.at[k]) : S(0);
        }
        return run;
      });
      const auto softmax =
          detail::softmax_of<n, held>(team, part, at_row, scale, [](Run<n>& run) -> auto& { return run.p; });
      const auto weigh = [&](std::size_t u, Run<n>& run) {
        for (unsigned k = 0; k < n; ++k) {
          const bool sees = at_row.sees(u + k);
          const S power = held ? run.p.at[k] : detail::power_of(run.p.at[k], softmax.largest, scale, at_row, u + k);
          run.p.at[k] = sees ? power * softmax.factor : S(0);
        }
      };
      S dot = S(0);
      part.for_each([&](std::size_t u, Run<n>& run) {
        weigh(u, run);
        for (unsigned k = 0; k < n; ++k) dot += run.p.at[k] * run.d.at[k];
      });
      dot = team.template combined<Sum>(dot);
      part.for_each([&](std::size_t u, Run<n>& run) {
        if constexpr (!held) weigh(u, run);
        Pack<T, n> w, d;
        for (unsigned k = 0; k < n; ++k) {
          w.at[k] = static_cast<T>(run.p.at[k] * drop.factor(run.kept >> k & 1u));
          d.at[k] = static_cast<T>(at_row.sees(u + k) ? run.p.at[k] * (run.d.at[k] - dot) * scale : S(0));
        }
        detail::write(w, weights + u);
        detail::write(d, d_scores + u);
      });
      detail::write_unseen<n>(team, at_row.seen, length, weights);
      detail::write_unseen<n>(team, at_row.seen, length, d_scores);
    });
  }

 private:
  /// Scores, then their powers, then p; and the dropout factors · d_weights.
  template <unsigned n>
  struct Run {
    Pack<S, n> p, d;
    unsigned kept;
  };
  REGIMEN_HD detail::ScoreRows<threads> rows() const {
    return {o.run.count * o.shape.length, detail::columns_of<more>(o.shape),
            are_aligned(at(o.scores), at(o.d_weights)) && are_aligned(at(o.weights), at(o.d_scores))};
  }
};

/// A thread for each distance of each head.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const AttentionBiasBackward<T>& o, Launch<0>) {
  return o.run.count * o.shape.distances();
}
template <class T>
REGIMEN_HD void compute(const AttentionBiasBackward<T>& o, const Memory& at, std::size_t place, Launch<0>) {
  using S = statistic_t<T>;
  const op::AttentionShape& s = o.shape;
  const std::size_t i = place % s.distances(), of_run = place / s.distances(), head = o.run.first + of_run * o.run.step;
  const T* const scores = at(o.d_scores) + of_run * s.length * s.length;
  // Of positions u = t + i − (T − 1) from 0 to T − 1; zero where t does not see u.
  const std::size_t begin = i < s.length ? s.length - 1 - i : 0, end = i < s.length ? s.length : 2 * s.length - 1 - i;
  S sum = S(0);
  for (std::size_t t = begin; t < end; ++t) sum += static_cast<S>(scores[t * s.length + t + i - (s.length - 1)]);
  at(o.d_bias)[head * s.distances() + i] = sum / s.template scale<S>();
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
