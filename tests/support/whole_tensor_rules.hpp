// tests/support/whole_tensor_rules.hpp — update rules that see more than elements: one needs norms, one needs matrices.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rules {

/// What a rule on spans needs of a step.
template <class Options>
struct WithRate {
  Options options;
  double rate;
  WithRate(const Options& o, const regimen::Scalars& s) : options(o), rate(s.learning_rate) {}
};

/// Layer-wise adaptive rates: Adam's step, as long as |w|.     You et al. 2020, algorithm 2
struct Lamb final {
  struct Options {
    double learning_rate = 1e-2, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0.01;
  };
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t states = 2;
  static constexpr std::array<const char*, 2> state_names{"first_moment", "second_moment"};
  static double correction_first(const Options& o, std::uint64_t t) {
    return 1 / (1 - std::pow(o.beta1, static_cast<double>(t)));
  }
  static double correction_second(const Options& o, std::uint64_t t) {
    return 1 / (1 - std::pow(o.beta2, static_cast<double>(t)));
  }

  template <class S>
  struct Coefficients {
    Options options;
    double rate, first, second;
    Coefficients(const Options& o, const regimen::Scalars& s)
        : options(o), rate(s.learning_rate), first(s.correction_first), second(s.correction_second) {}
  };

  template <class M>
  static void update_tensor(const regimen::WholeTensor<M, 2>& t, const Coefficients<M>& c) {
    const auto& o = c.options;
    double weights = 0, steps = 0;
    for (std::size_t i = 0; i < t.weight.size(); ++i) {
      const double g = t.gradient[i];
      t.state[0][i] = M(o.beta1 * t.state[0][i] + (1 - o.beta1) * g);
      t.state[1][i] = M(o.beta2 * t.state[1][i] + (1 - o.beta2) * g * g);
      const double step = t.state[0][i] * c.first / (std::sqrt(t.state[1][i] * c.second) + o.epsilon) +
                          (t.decays ? o.weight_decay * t.weight[i] : 0);
      t.gradient[i] = M(step);
      weights += double(t.weight[i]) * t.weight[i];
      steps += step * step;
    }
    const double ratio = weights > 0 && steps > 0 ? std::sqrt(weights / steps) : 1;
    for (std::size_t i = 0; i < t.weight.size(); ++i) t.weight[i] = M(t.weight[i] - c.rate * ratio * t.gradient[i]);
  }
};

/// Momentum, made orthogonal by Newton-Schulz iterations that drive every singular value to 1: X ← 3/2 X − 1/2 X Xᵀ X,
/// from X / |X|.
/// Vectors descend.     In the manner of Jordan 2024 (Muon), with the classical cubic.
struct Orthogonal final {
  struct Options {
    double learning_rate = 1e-2, momentum = 0.9;
    std::size_t iterations = 30;
  };
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"momentum"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  /// X, its successor, and X Xᵀ.
  static constexpr std::size_t scratch(std::size_t rows, std::size_t columns) {
    return rows > 1 ? rows * columns + rows * rows : 0;
  }
  static constexpr double flops(std::size_t rows, std::size_t columns) {
    return 30 * 4 * double(rows) * double(rows) * double(columns);
  }

  template <class>
  using Coefficients = WithRate<Options>;

  template <class M>
  static void update_tensor(const regimen::WholeTensor<M, 1>& t, const Coefficients<M>& c) {
    const std::size_t n = t.rows, m = t.columns;
    double square = 0;
    for (std::size_t i = 0; i < t.weight.size(); ++i) {
      t.state[0][i] = M(c.options.momentum * t.state[0][i] + t.gradient[i]);
      t.gradient[i] = t.state[0][i];
      square += double(t.gradient[i]) * t.gradient[i];
    }
    M *x = t.gradient.data(), *next = t.scratch.data(), *const product = t.scratch.data() + n * m;
    if (n > 1 && square > 0) {
      for (std::size_t i = 0; i < n * m; ++i) x[i] = M(x[i] / std::sqrt(square));
      for (std::size_t iteration = 0; iteration < c.options.iterations; ++iteration) {
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < m; ++k) sum += double(x[i * m + k]) * x[j * m + k];
            product[i * n + j] = M(sum);
          }
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t k = 0; k < m; ++k) {
            double sum = 0;
            for (std::size_t j = 0; j < n; ++j) sum += double(product[i * n + j]) * x[j * m + k];
            next[i * m + k] = M(1.5 * x[i * m + k] - 0.5 * sum);
          }
        M* const free = x;
        x = next;
        next = free;
      }
    }
    for (std::size_t i = 0; i < t.weight.size(); ++i) t.weight[i] = M(t.weight[i] - c.rate * x[i]);
  }
};

}  // namespace rules
// SPDX-License-Identifier: Apache-2.0
