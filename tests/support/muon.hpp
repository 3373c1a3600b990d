// tests/support/muon.hpp — Muon as a rule on spans of the host.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/policy/optimizer.hpp>

#include "whole_tensor_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rules {

/// Muon on spans, by loops: what the library's, which is written by operations, must compute.
struct MuonOnSpans final {
  using Options = regimen::Muon::Options;
  static constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  static constexpr int iterations = 5;
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t states = 1;
  static constexpr std::array<const char*, 1> state_names{"momentum"};
  static double correction_first(const Options&, std::uint64_t) { return 1; }
  static double correction_second(const Options&, std::uint64_t) { return 1; }
  static constexpr std::size_t scratch(std::size_t rows, std::size_t columns) {
    const std::size_t inner = rows < columns ? rows : columns;
    return rows * columns + 2 * inner * inner;
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
    const double factor = coefficients.rate * 0.2 * std::sqrt(double(std::max(n, m)));
    for (std::size_t i = 0; i < n * m; ++i) x[i] = M(x[i] / std::max(std::sqrt(square_sum), o.epsilon));
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
    const double keep = 1 - coefficients.rate * (t.decays ? double(o.weight_decay) : 0);
    for (std::size_t i = 0; i < n * m; ++i) t.weight[i] = M(keep * t.weight[i] - factor * x[i]);
  }
};

}  // namespace rules
// SPDX-License-Identifier: Apache-2.0
