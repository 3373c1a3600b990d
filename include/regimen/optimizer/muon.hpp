// regimen/optimizer/muon.hpp — momentum, whose matrices are made orthogonal.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/optimizer/range.hpp>
#include <regimen/optimizer/weight_decay.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace regimen {

namespace detail {

/// 1/|u|, from |u|²; and the weights' factor, 1 − lr λ.
struct MuonFactors final {
  double epsilon, decay;
  REGIMEN_HD void operator()(double* n, const Scalars& s) const {
    const double norm = std::sqrt(n[0]);
    n[0] = 1 / (norm > epsilon ? norm : epsilon);
    n[1] = 1 - s.learning_rate * decay;
  }
};

}  // namespace detail

/// m ← μ m + g,  u = g + μ m, or m without nesterov
/// X = u / max(|u|, ε); five times X ← a X + (b X Xᵀ + c (X Xᵀ)²) X,   a, b, c = 3.4445, −4.7750, 2.0315
/// w ← (1 − lr λ) w − lr · 0.2 √max(rows, columns) · X
///
/// Each of the five steps brings the singular values of X nearer to 1; at the end they are 0.7 to 1.2. A tall matrix is
/// multiplied by Xᵀ X from the right, which gives the same X. A vector is a matrix of one row: its step has a fixed
/// length, too. A parameter of more dimensions is a matrix, too: its first extent by the product of the others. The
/// factor 0.2 √max(rows, columns) makes a step as large as one of AdamW, so use the learning rate and the decay of
/// AdamW.
///
/// learning_rate  per step, >= 0; the step's own rate comes from the schedule
/// momentum       μ in [0, 1)
/// weight_decay   λ >= 0, multiplies the learning rate; for the parameters that the Optimizer chooses
/// epsilon        > 0, in units of the gradient
/// nesterov       looks ahead by one step; no effect if μ = 0
/// source         Jordan 2024 (kellerjordan.github.io/posts/muon); scale and decay: Liu et al. 2025, section 2.2.
///                torch.optim.Muon with adjust_lr_fn="match_rms_adamw" has the same formulas; it iterates in bf16, this
///                rule in Master
/// cost           30 inner² outer + 10 inner³ flops of products for a matrix, with extents inner <= outer; memory for 2
///                inner outer + 2 inner² elements of Master; under a Shard that keeps slices also the cost in
///                docs/update_rules.md
struct Muon final {
  struct Options {
    double learning_rate = 1e-3;
    [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
    double momentum = 0.95;
    detail::WeightDecay weight_decay = detail::WeightDecay::by_default(0.1);
    double epsilon = 1e-7;
    bool nesterov = true;
  };
  static constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  static constexpr int iterations = 5;
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t states = 1, numbers = 2;
  static constexpr std::array<const char*, 1> state_names{"momentum"};

  /// Throws Error when an option lies outside its range.
  template <class Master>
  static void check(const Options& options) {
    detail::in_unit_range("optimizer.momentum", options.momentum);
    detail::at_least_zero("optimizer.weight_decay", options.weight_decay);
    detail::above_zero<Master>("optimizer.epsilon", options.epsilon);
  }
  static void list(const Options& options, const auto& f) {
    f("momentum", options.momentum), f("weight_decay", double(options.weight_decay)), f("epsilon", options.epsilon),
        f("nesterov", options.nesterov);
  }

  REGIMEN_HD static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_HD static double correction_second(const Options&, std::uint64_t) { return 1; }

  /// X's successor, X Xᵀ, and the polynomial.
  static constexpr std::array<std::size_t, 3> scratch(std::size_t rows, std::size_t columns) {
    const std::size_t inner = rows < columns ? rows : columns;
    return {rows * columns, inner * inner, inner * inner};
  }
  /// 0.2 √max(rows, columns), in a constant expression, too.
  static constexpr double scale(std::size_t rows, std::size_t columns) {
    const double longest = double(rows > columns ? rows : columns);
    double root = longest;
    for (int i = 0; i < 60; ++i) root = 0.5 * (root + longest / root);  // Newton: halves the digits that are missing
    return 0.2 * root;
  }

  using Factors = detail::MuonFactors;

  template <class M>
  static constexpr void update_tensor(auto& walk, const TensorViews<M, Muon>& t, const Options& o) {
    using Sum = op::ScaledSum<M, M>;
    const std::size_t count = t.count();
    const View<M> u = t.gradient;
    walk.run(Sum{.x = u, .y = t.state[0], .count = count, .b = {o.momentum}, .scalars = t.scalars});
    walk.run(Sum{
        .x = t.state[0], .y = u, .count = count, .a = {o.nesterov ? o.momentum : 1}, .b = {o.nesterov ? 1.0 : 0.0}});
    walk.run(op::Zero<double>{t.numbers, 1});
    walk.run(op::SumOfSquares<M>{u, t.numbers, count});
    walk.run(op::Calculate<Factors>{t.numbers, t.scalars, numbers, {o.epsilon, t.decays ? double(o.weight_decay) : 0}});
    walk.run(Sum{.x = u, .y = u, .count = count, .a = {.number = t.numbers}});
    const View<M> x = orthogonal<M>(walk, t);
    walk.run(Sum{.x = x,
                 .y = t.weight,
                 .count = count,
                 .a = {-scale(t.rows, t.columns), learning_rate_of(t.scalars)},
                 .b = {.number = t.numbers + 1},
                 .scalars = t.scalars});
  }

 private:
  /// The five steps from X in the gradient's place. Returns the last X's place.
  template <class M>
  static constexpr View<M> orthogonal(auto& walk, const TensorViews<M, Muon>& t) {
    using Times = op::Product<M, M, M>;
    const bool tall = t.rows > t.columns;
    const std::size_t inner = tall ? t.columns : t.rows, outer = tall ? t.rows : t.columns;
    View<M> x = t.gradient, next = t.scratch[0];
    const View<M> square = t.scratch[1], polynomial = t.scratch[2];
    for (int i = 0; i < iterations; ++i) {
      walk.run(Times{
          .a = x, .b = x, .c = square, .m = inner, .n = inner, .k = outer, .transpose_a = tall, .transpose_b = !tall});
      walk.run(Times{.a = square, .b = square, .c = polynomial, .m = inner, .n = inner, .k = inner});
      walk.run(op::ScaledSum<M, M>{.x = square, .y = polynomial, .count = inner * inner, .a = {b}, .b = {c}});
      walk.run(Times{
          .a = tall ? x : polynomial, .b = tall ? polynomial : x, .c = next, .m = t.rows, .n = t.columns, .k = inner});
      walk.run(op::ScaledSum<M, M>{.x = x, .y = next, .count = t.count(), .a = {a}, .b = {1}});
      const View<M> free = x;
      x = next;
      next = free;
    }
    return x;
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
