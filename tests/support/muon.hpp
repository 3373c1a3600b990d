// tests/support/muon.hpp — Muon in the two forms of a rule that sees whole tensors: by operations, and on spans.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>

#include "whole_tensor_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rules {

/// m ← μ m + g;  u = g + μ m;  matrices: five times X ← a X + (b X Xᵀ + c (X Xᵀ)²) X from X = u / (|u| + ε), whose
/// singular values come near 1;  w ← (1 − lr λ) w − lr · 0.2 √max(rows, columns) · X.  Vectors: w ← w − lr · u.
/// Tall matrices multiply by Xᵀ X from the right, which is the same.
///   source   Jordan 2024; the scale: Liu et al. 2025, section 2.2
struct MuonRule {
  struct Options {
    double learning_rate = 0.02, momentum = 0.95, weight_decay = 0.1, epsilon = 1e-7;
  };
  static constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  static constexpr int iterations = 5;
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"momentum"};
  REGIMEN_HD static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_HD static double correction_second(const Options&, std::uint64_t) { return 1; }
  /// 0.2 √max(rows, columns), in a constant expression, too.
  static constexpr double scale(std::size_t rows, std::size_t columns) {
    const double longest = double(rows > columns ? rows : columns);
    double root = longest;
    for (int i = 0; i < 60; ++i) root = 0.5 * (root + longest / root);  // Newton: halves the digits that are missing
    return 0.2 * root;
  }
};

struct Muon final : MuonRule {
  static constexpr std::size_t numbers = 2;
  /// X's successor, X Xᵀ, and the polynomial.
  static constexpr std::array<std::size_t, 3> scratch(std::size_t rows, std::size_t columns) {
    const std::size_t inner = rows < columns ? rows : columns;
    if (rows == 1) return {};
    return {rows * columns, inner * inner, inner * inner};
  }

  struct InverseNorm {
    double epsilon;
    REGIMEN_HD void operator()(double* n, const regimen::Scalars&) const { n[0] = 1 / (std::sqrt(n[0]) + epsilon); }
  };
  struct Keep {
    double decay;
    REGIMEN_HD void operator()(double* n, const regimen::Scalars& scalars) const {
      n[1] = 1 - scalars.learning_rate * decay;
    }
  };

  template <class M>
  static constexpr void update_tensor(auto& engine, const regimen::TensorViews<M, Muon>& t, const Options& o) {
    namespace op = regimen::op;
    using regimen::View;
    using Sum = op::ScaledSum<M, M>;
    const std::size_t count = t.count();
    engine.run(Sum{.x = t.gradient, .y = t.state[0], .count = count, .b = {o.momentum}, .scalars = t.scalars});
    engine.run(Sum{.x = t.state[0], .y = t.gradient, .count = count, .a = {o.momentum}, .b = {1}});
    View<M> x = t.gradient;
    if (t.rows > 1) {
      engine.run(op::Zero<double>{t.numbers, 1});
      engine.run(op::SumOfSquares<M>{x, t.numbers, count});
      engine.run(op::Calculate<InverseNorm>{t.numbers, t.scalars, 1, {o.epsilon}});
      engine.run(Sum{.x = x, .y = x, .count = count, .a = {.number = t.numbers}});
      x = orthogonal<M>(engine, t);
    }
    engine.run(op::Calculate<Keep>{t.numbers, t.scalars, numbers, {t.decays ? o.weight_decay : 0}});
    engine.run(Sum{.x = x,
                   .y = t.weight,
                   .count = count,
                   .a = {t.rows > 1 ? -scale(t.rows, t.columns) : -1, learning_rate_of(t.scalars)},
                   .b = {.number = t.numbers + 1},
                   .scalars = t.scalars});
  }

 private:
  template <class M>
  static constexpr regimen::View<M> orthogonal(auto& engine, const regimen::TensorViews<M, Muon>& t) {
    namespace op = regimen::op;
    using Times = op::Product<M, M, M>;
    const bool tall = t.rows > t.columns;
    const std::size_t inner = tall ? t.columns : t.rows, outer = tall ? t.rows : t.columns;
    regimen::View<M> x = t.gradient, next = t.scratch[0];
    const regimen::View<M> square = t.scratch[1], polynomial = t.scratch[2];
    for (int i = 0; i < iterations; ++i) {
      engine.run(Times{
          .a = x, .b = x, .c = square, .m = inner, .n = inner, .k = outer, .transpose_a = tall, .transpose_b = !tall});
      engine.run(Times{.a = square, .b = square, .c = polynomial, .m = inner, .n = inner, .k = inner});
      engine.run(op::ScaledSum<M, M>{.x = square, .y = polynomial, .count = inner * inner, .a = {b}, .b = {c}});
      engine.run(Times{
          .a = tall ? x : polynomial, .b = tall ? polynomial : x, .c = next, .m = t.rows, .n = t.columns, .k = inner});
      engine.run(op::ScaledSum<M, M>{.x = x, .y = next, .count = t.count(), .a = {a}, .b = {1}});
      const regimen::View<M> free = x;
      x = next;
      next = free;
    }
    return x;
  }
};

struct MuonOnSpans final : MuonRule {
  static constexpr std::size_t scratch(std::size_t rows, std::size_t columns) {
    const std::size_t inner = rows < columns ? rows : columns;
    return rows == 1 ? 0 : rows * columns + 2 * inner * inner;
  }
  template <class>
  using Coefficients = WithRate<Options>;

  template <class M>
  static void update_tensor(const regimen::WholeTensor<M, 1>& t, const Coefficients<M>& coefficients) {
    const Options& o = coefficients.options;
    const std::size_t n = t.rows, m = t.columns;
    double square_sum = 0;
    for (std::size_t i = 0; i < n * m; ++i) {
      t.state[0][i] = M(o.momentum * t.state[0][i] + t.gradient[i]);
      t.gradient[i] = M(t.gradient[i] + o.momentum * t.state[0][i]);
      square_sum += double(t.gradient[i]) * t.gradient[i];
    }
    M* x = t.gradient.data();
    double factor = coefficients.rate;
    if (n > 1) {
      factor *= scale(n, m);
      for (std::size_t i = 0; i < n * m; ++i) x[i] = M(x[i] / (std::sqrt(square_sum) + o.epsilon));
      const bool tall = n > m;
      const std::size_t inner = tall ? m : n, outer = tall ? n : m;
      M *next = t.scratch.data(), *const square = next + n * m, *const polynomial = square + inner * inner;
      const auto at = [&](std::size_t i, std::size_t j) { return double(tall ? x[j * m + i] : x[i * m + j]); };
      for (int iteration = 0; iteration < iterations; ++iteration) {
        for (std::size_t i = 0; i < inner; ++i)
          for (std::size_t j = 0; j < inner; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < outer; ++k) sum += at(i, k) * at(j, k);
            square[i * inner + j] = M(sum);
          }
        for (std::size_t i = 0; i < inner; ++i)
          for (std::size_t j = 0; j < inner; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < inner; ++k) sum += double(square[i * inner + k]) * square[k * inner + j];
            polynomial[i * inner + j] = M(b * square[i * inner + j] + c * sum);
          }
        for (std::size_t i = 0; i < inner; ++i)
          for (std::size_t j = 0; j < outer; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < inner; ++k) sum += double(polynomial[i * inner + k]) * at(k, j);
            next[tall ? j * m + i : i * m + j] = M(a * at(i, j) + sum);
          }
        std::swap(x, next);
      }
    }
    const double keep = 1 - coefficients.rate * (t.decays ? o.weight_decay : 0);
    for (std::size_t i = 0; i < n * m; ++i) t.weight[i] = M(keep * t.weight[i] - factor * x[i]);
  }
};

}  // namespace rules
// SPDX-License-Identifier: Apache-2.0
