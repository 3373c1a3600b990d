// regimen/core/activation.hpp — the activation functions as arithmetic: value and derivative of one number.
#pragma once

#include <regimen/core/hd.hpp>

#include <cmath>

namespace regimen::activation {

// Each is a formula for value and derivative at x. Engines use them directly or vectorise the same formula; their
// tests compare against these, in fp64.

/// y = x
struct Identity final {
  REGIMEN_HD static auto value(auto x) { return x; }
  template <class S>
  REGIMEN_HD static S derivative(S) {
    return S(1);
  }
};

/// y = max(x, 0), NaN where x is; the derivative at 0 is 0
struct Relu final {
  REGIMEN_HD static auto value(auto x) { return x <= 0 ? 0 : x; }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    return x <= S(0) ? S(0) : S(1);
  }
};

/// y = x · sigmoid(x)
struct Silu final {
  REGIMEN_HD static auto value(auto x) { return x / (1 + std::exp(-x)); }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    const S sigmoid = S(1) / (S(1) + std::exp(-x));
    return sigmoid * (S(1) + x * (S(1) - sigmoid));
  }
};

/// y = 1 / (1 + e^−x)
struct Sigmoid final {
  REGIMEN_HD static auto value(auto x) { return 1 / (1 + std::exp(-x)); }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    const S e = std::exp(x < S(0) ? x : -x), rest = S(1) / (S(1) + e);
    return e * rest * rest;
  }
};
/// Its derivative as a function of y.
struct SigmoidOfOutput final {
  REGIMEN_HD static auto derivative(auto y) { return y * (1 - y); }
};

/// y = (e^x − e^−x) / (e^x + e^−x)
struct Tanh final {
  REGIMEN_HD static auto value(auto x) { return std::tanh(x); }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    const S y = std::tanh(x);
    return (S(1) - y) * (S(1) + y);
  }
};
/// Its derivative as a function of y.
struct TanhOfOutput final {
  REGIMEN_HD static auto derivative(auto y) { return (1 - y) * (1 + y); }
};

/// y = x · min(max(x + 3, 0), 6) / 6, NaN where x is; the derivatives at −3 and 3 are −1/2 and 3/2   Howard et al. 2019
struct HardSwish final {
  template <class S>
  REGIMEN_HD static S value(S x) {
    const S gate = x + S(3);
    return x * ((gate < S(0) ? S(0) : gate > S(6) ? S(6) : gate) / S(6));
  }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    return x < S(-3) ? S(0) : x > S(3) ? S(1) : x / S(3) + S(0.5);
  }
};

/// y = x · Φ(x), Φ the normal distribution function       Hendrycks, Gimpel 2016
struct GeluErf final {
  template <class S>
  REGIMEN_HD static S value(S x) {
    return S(0.5) * x * (S(1) + std::erf(x * S(0.70710678118654752440)));
  }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    const S density = S(0.39894228040143267794) * std::exp(S(-0.5) * x * x);
    return S(0.5) * (S(1) + std::erf(x * S(0.70710678118654752440))) + x * density;
  }
};

/// y = x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))          ibid., the approximation that GPT-2 uses
struct GeluTanh final {
  template <class S>
  REGIMEN_HD static S value(S x) {
    return S(0.5) * x * (S(1) + std::tanh(S(0.79788456080286535588) * (x + S(0.044715) * x * x * x)));
  }
  template <class S>
  REGIMEN_HD static S derivative(S x) {
    x = x < S(-32) ? S(-32) : x > S(32) ? S(32) : x;  // tanh is ±1 there; beyond, x² would overflow and 0 · ∞ is NaN
    const S slope = S(0.79788456080286535588);
    const S t = std::tanh(slope * (x + S(0.044715) * x * x * x));
    return S(0.5) * (S(1) + t) + S(0.5) * x * (S(1) - t * t) * slope * (S(1) + S(3 * 0.044715) * x * x);
  }
};

}  // namespace regimen::activation
// SPDX-License-Identifier: Apache-2.0
