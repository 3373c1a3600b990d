// regimen/core/pointwise_loss.hpp — losses of single elements as arithmetic: value and derivative.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/hd.hpp>

#include <cmath>

namespace regimen::pointwise {

// Each has a name, value(x, t) of an output x and its target t, and derivative(x, t) by x, all in fp64.

/// (x − t)²
struct Squared final {
  static constexpr const char* name = "squared_error";
  REGIMEN_HD static double value(double x, double t) { return (x - t) * (x - t); }
  REGIMEN_HD static double derivative(double x, double t) { return 2 * (x - t); }
};

/// With d = |x − t|: d² / 2 up to delta, and delta · (d − delta / 2) beyond          Huber 1964
template <class Delta>
struct Huber final {
  static constexpr const char* name = "huber";
  REGIMEN_HD static double value(double x, double t) {
    const double d = x < t ? t - x : x - t;
    return d <= Delta::value ? 0.5 * d * d : Delta::value * (d - 0.5 * Delta::value);
  }
  REGIMEN_HD static double derivative(double x, double t) {
    const double d = x - t;
    return d < -Delta::value ? -Delta::value : d > Delta::value ? Delta::value : d;
  }
};

/// −t log s(x) − (1 − t) log(1 − s(x)), with s the logistic function, as max(x, 0) − x t + log(1 + e^−|x|)
struct BinaryCrossEntropy final {
  static constexpr const char* name = "binary_cross_entropy";
  REGIMEN_HD static double value(double x, double t) {
    return (x < 0 ? 0 : x) - x * t + std::log1p(std::exp(x < 0 ? x : -x));
  }
  REGIMEN_HD static double derivative(double x, double t) {
    const double e = std::exp(x < 0 ? x : -x);
    return (x < 0 ? e / (1 + e) : 1 / (1 + e)) - t;
  }
};

/// Function, where t is a number; where it is NaN 0, whatever x is, and the element does not count
template <class Function>
struct Masked final {
  static constexpr const char* name = Function::name;
  REGIMEN_HD static bool counts(double t) { return !is_nan(t); }
  REGIMEN_HD static double value(double x, double t) { return counts(t) ? Function::value(x, t) : 0; }
  REGIMEN_HD static double derivative(double x, double t) { return counts(t) ? Function::derivative(x, t) : 0; }
};

/// Whether a function says which targets count. Without: all.
template <class Function>
concept Counts = requires(double t) { Function::counts(t); };

}  // namespace regimen::pointwise
// SPDX-License-Identifier: Apache-2.0
