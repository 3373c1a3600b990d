// regimen/engine/cpu/activation.hpp — bias and activation in one pass, and their gradients in one pass.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/column_sum.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::cpu {
namespace detail {

// The formulas of core/activation.hpp on registers. The tanh form of GELU is x · sigmoid(2u), because
// (1 + tanh u) / 2 = sigmoid(2u), which keeps its relative accuracy where 1 + tanh u cancels.

/// sigmoid(z), and its derivative s · (1 − s) without the cancellation of 1 − s.
template <class S>
struct Sigmoid {
  Vector<S> value, derivative;

  explicit Sigmoid(Vector<S> z) {
    const Vector<S> e = exp(-abs(z)), rest = S(1) / (S(1) + e);
    value = select(z < S(0), e * rest, rest);
    derivative = e * rest * rest;
  }
};

template <class Activation, class S>
struct Formula;

template <class S>
struct Formula<activation::Identity, S> {
  static Vector<S> value(Vector<S> x) { return x; }
  static Vector<S> derivative(Vector<S>) { return S(1); }
};

template <class S>
struct Formula<activation::Relu, S> {
  static Vector<S> value(Vector<S> x) { return select(at_most_zero(x), Vector<S>(S(0)), x); }
  static Vector<S> derivative(Vector<S> x) { return select(at_most_zero(x), Vector<S>(S(0)), Vector<S>(S(1))); }
};

template <class S>
struct Formula<activation::Silu, S> {
  static Vector<S> value(Vector<S> x) { return x * sigmoid(x); }
  static Vector<S> derivative(Vector<S> x) {
    const Sigmoid<S> s(x);
    return multiply_add(x, s.derivative, s.value);
  }
};

template <class S>
struct Formula<activation::Sigmoid, S> {
  static Vector<S> value(Vector<S> x) { return sigmoid(x); }
  static Vector<S> derivative(Vector<S> x) { return Sigmoid<S>(x).derivative; }
};
template <class S>
struct Formula<activation::SigmoidOfOutput, S> {
  static Vector<S> derivative(Vector<S> y) { return y * (S(1) - y); }
};

template <class S>
struct Formula<activation::Tanh, S> {
  static Vector<S> value(Vector<S> x) { return tanh(x); }
  static Vector<S> derivative(Vector<S> x) { return Formula<activation::TanhOfOutput, S>::derivative(tanh(x)); }
};
template <class S>
struct Formula<activation::TanhOfOutput, S> {
  static Vector<S> derivative(Vector<S> y) { return (S(1) - y) * (S(1) + y); }
};

template <class S>
struct Formula<activation::HardSwish, S> {
  static Vector<S> value(Vector<S> x) {
    const Vector<S> gate = x + S(3);
    return x * (select(gate < S(0), Vector<S>(S(0)), select(S(6) < gate, Vector<S>(S(6)), gate)) / S(6));
  }
  static Vector<S> derivative(Vector<S> x) {
    return select(x < S(-3), Vector<S>(S(0)), select(S(3) < x, Vector<S>(S(1)), x / S(3) + S(0.5)));
  }
};

template <class S>
struct Formula<activation::GeluErf, S> {
  static Vector<S> distribution(Vector<S> x) {
    return multiply_add(erf(x * S(0.70710678118654752440)), Vector<S>(S(0.5)), Vector<S>(S(0.5)));
  }
  static Vector<S> value(Vector<S> x) { return x * distribution(x); }
  static Vector<S> derivative(Vector<S> x) {
    return multiply_add(x * S(0.39894228040143267794), exp(x * x * S(-0.5)), distribution(x));
  }
};

template <class S>
struct Formula<activation::GeluTanh, S> {
  static constexpr double slope = 2 * 0.79788456080286535588, cubic = 0.044715;
  static Vector<S> value(Vector<S> x) {
    return x * sigmoid(x * multiply_add(x * x, Vector<S>(S(slope * cubic)), Vector<S>(S(slope))));
  }
  static Vector<S> derivative(Vector<S> x) {
    x = min(max(x, Vector<S>(S(-32))),
            Vector<S>(S(32)));  // sigmoid is 0 or 1 there; beyond, x² would overflow and 0 · ∞ is NaN
    const Vector<S> square = x * x;
    const Sigmoid<S> s(x * multiply_add(square, Vector<S>(S(slope * cubic)), Vector<S>(S(slope))));
    const Vector<S> inner = multiply_add(square, Vector<S>(S(3 * slope * cubic)), Vector<S>(S(slope)));
    return multiply_add(s.derivative, x * inner, s.value);
  }
};

}  // namespace detail

/// y = f(x + bias), in S, rounded once. Nothing is left to do for the identity without a bias if y is x.
template <class Activation, class T, class B>
void compute(const op::BiasActivation<Activation, T, B>& o, const Memory& at) {
  using S = statistic_t<T>;
  using F = detail::Formula<Activation, S>;
  const T* const x = at(o.x);
  const B* const bias = at.optional(o.bias);
  T* const y = at(o.y);
  if (std::is_same_v<Activation, activation::Identity> && bias == nullptr && x == y) return;
  sweep_rows<S>(o.rows, o.columns, o.row(), [&](std::size_t i, std::size_t place, auto n) {
    const Vector<S> value = load<S>(x + place, n);
    store(F::value(bias == nullptr ? value : value + load<S>(bias + i, n)), y + place, n);
  });
}

/// y = f(a) · b, in S, rounded once.
template <class Activation, class T>
void compute(const op::Gate<Activation, T>& o, const Memory& at) {
  using F = detail::Formula<Activation, statistic_t<T>>;
  combine(o.count, at(o.a), at(o.b), at(o.y), [](auto a, auto b) { return F::value(a) * b; });
}

/// d_a = d_y · b · f′(a) and d_b = d_y · f(a), of one pass over a, b and d_y; f(a) is computed again, not saved.
template <class Activation, class T>
void compute(const op::GateBackward<Activation, T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using F = detail::Formula<Activation, S>;
  const T *const a = at(o.a), *const b = at(o.b), *const d_y = at(o.d_y);
  T *const d_a = at.optional(o.d_a), *const d_b = at.optional(o.d_b);
  sweep<S>(o.count, [&](std::size_t i, auto n) {
    const Vector<S> x = load<S>(a + i, n), d = load<S>(d_y + i, n);
    if (d_a != nullptr) store(d * load<S>(b + i, n) * F::derivative(x), d_a + i, n);
    if (d_b != nullptr) store(d * F::value(x), d_b + i, n);
  });
}

template <class T>
void compute(const op::Scale<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T *const x = at(o.x), *const gain = at(o.gain);
  T* const y = at(o.y);
  sweep_rows<S>(o.rows, o.columns, o.columns, [&](std::size_t i, std::size_t place, auto n) {
    store(load<S>(x + place, n) * load<S>(gain + i, n), y + place, n);
  });
}

/// d_x = d_y · gain, and d_gain = Σ over the rows of d_y · x, of one pass.
template <class T, class G>
void compute(const op::ScaleBackward<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  column_sums<S>(o.rows, o.columns, o.columns, at(o.d_gain), o.add, [&](std::size_t i, auto n, std::size_t column) {
    const Vector<S> d = load<S>(d_y + i, n), term = d * load<S>(x + i, n);
    store(d * load<S>(gain + column, n), d_x + i, n);
    return term;
  });
}

/// d_bias is summed before d_x is rounded to T.
template <class Activation, class T, class G>
void compute(const op::BiasBackward<Activation, T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  using F = detail::Formula<Activation, S>;
  const T* const d_y = at(o.d_y);
  const T* const bias = at.optional(o.bias);
  G* const d_bias = at.optional(o.d_bias);
  if constexpr (std::is_same_v<Activation, activation::Identity>) {
    if (d_bias != nullptr) column_sums<S>(d_y, o.rows, o.columns, o.row(), d_bias, o.add);
  } else {
    const T* const x = at(o.x);
    T* const d_x = at(o.d_x);
    const auto gradient = [&](std::size_t i, auto n, std::size_t column) {
      const Vector<S> shift = bias == nullptr ? Vector<S>(S(0)) : load<S>(bias + column, n);
      const Vector<S> d = load<S>(d_y + i, n) * F::derivative(load<S>(x + i, n) + shift);
      store(d, d_x + i, n);
      return d;
    };
    if (d_bias == nullptr)
      return sweep_rows<S>(o.rows, o.columns, o.row(),
                           [&](std::size_t i, std::size_t place, auto n) { gradient(place, n, i); });
    column_sums<S>(o.rows, o.columns, o.row(), d_bias, o.add, gradient);
  }
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
