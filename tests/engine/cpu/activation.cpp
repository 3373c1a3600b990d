// tests/engine/cpu/activation.cpp — bias and activation, and their gradients, against the formulas in fp64.
#include "arena.hpp"

#include <regimen/core/activation.hpp>
#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/execute.hpp>

#include <algorithm>
#include <tuple>

using namespace regimen;
using namespace test;

namespace {

// Tolerances. u = epsilon of S. An activation is x times a factor that is off by a few u (exp, sigmoid and erf are good
// to 2.5 ulp, the arithmetic around them adds less than six roundings): 12 u |x|. Derivatives are below 1.2, as are the
// terms they are made of: 16 u. Then one rounding to T. Shifting by the bias may move x by u/2 · |x|, and derivatives
// change by less than 1.2 for each unit of x: u |x| more. Sigmoid and tanh are such factors themselves, with slopes of at
// most 1: 12 u |y|, and u |x| for the shift.
template <class Activation>
constexpr bool is_factor =
    std::is_same_v<Activation, activation::Sigmoid> || std::is_same_v<Activation, activation::Tanh>;
template <class Activation, class S>
double value_error(double x) {
  const double of_factor =
      is_factor<Activation> ? 12 * std::fabs(Activation::value(x)) + std::fabs(x) : 12 * std::fabs(x);
  return epsilon_of<S> * of_factor + (sizeof(S) == 4 ? 1e-37 : 1e-300);
}
template <class S>
double derivative_error(double x) {
  return epsilon_of<S> * (16 + 2 * std::fabs(x));
}

// The formulas in long double, whose own cancellations are out of sight.
template <class Activation>
double value_of(double x) {
  return static_cast<double>(Activation::value(static_cast<long double>(x)));
}
template <class Activation>
double derivative_of(double x) {
  return static_cast<double>(Activation::derivative(static_cast<long double>(x)));
}

struct Case {
  std::size_t rows, columns;
  bool bias;
};

template <class Activation, class T>
void forward_is_the_formula(Case c, bool in_place) {
  using S = statistic_t<T>;
  Arena arena;
  const Values x = values<T>(c.rows * c.columns, 6, 1),
               b = c.bias ? values<T>(c.columns, 1, 2) : Values(c.columns, 0.0);
  op::BiasActivation<Activation, T> o{};
  o.x = arena.put<T>(x);
  if (c.bias) o.bias = arena.put<T>(b);
  o.y = in_place ? o.x : arena.room<T>(x.size());
  o.rows = c.rows, o.columns = c.columns;
  cpu::execute(o, arena.memory());
  Values expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = value_of<Activation>(x[i] + b[i % c.columns]);
  CHECK(misses(arena.get(o.y, x.size()), expected, [&](std::size_t i) {
          return value_error<Activation, S>(x[i] + b[i % c.columns]) + rounding_of<T>(expected[i]);
        }) == 0);
  CHECK(arena.guards_hold());
}

/// One more factor and rounding in S than the activation alone.
template <class Activation, class T>
void gates_are_the_formula() {
  using S = statistic_t<T>;
  for (const std::size_t count : {std::size_t{1}, std::size_t{37}, std::size_t{1003}}) {
    CAPTURE(count);
    Arena arena;
    const Values a = values<T>(count, 6, 1), b = values<T>(count, 2, 2), d_y = values<T>(count, 1, 3);
    op::Gate<Activation, T> o{arena.put<T>(a), arena.put<T>(b), arena.room<T>(count), count};
    cpu::execute(o, arena.memory());
    op::GateBackward<Activation, T> back{o.a,  o.b, arena.put<T>(d_y), arena.room<T>(count), arena.room<T>(count),
                                         count};
    cpu::execute(back, arena.memory());
    Values y(count), d_a(count), d_b(count);
    for (std::size_t i = 0; i < count; ++i) {
      y[i] = value_of<Activation>(a[i]) * b[i];
      d_a[i] = d_y[i] * b[i] * derivative_of<Activation>(a[i]);
      d_b[i] = d_y[i] * value_of<Activation>(a[i]);
    }
    CHECK(misses(arena.get(o.y, count), y, [&](std::size_t i) {
            return (value_error<Activation, S>(a[i]) + epsilon_of<S> * std::fabs(a[i])) * std::fabs(b[i]) +
                   rounding_of<T>(y[i]);
          }) == 0);
    CHECK(misses(arena.get(back.d_a, count), d_a, [&](std::size_t i) {
            return (derivative_error<S>(a[i]) + 3 * epsilon_of<S>)*std::fabs(d_y[i] * b[i]) + rounding_of<T>(d_a[i]);
          }) == 0);
    CHECK(misses(arena.get(back.d_b, count), d_b, [&](std::size_t i) {
            return (value_error<Activation, S>(a[i]) + epsilon_of<S> * std::fabs(a[i])) * std::fabs(d_y[i]) +
                   rounding_of<T>(d_b[i]);
          }) == 0);
    const Values old = arena.get(back.d_a, count);
    op::GateBackward<Activation, T> half = back;  // one gradient alone, in the place of d_y
    half.d_a = {}, half.d_b = half.d_y;
    cpu::execute(half, arena.memory());
    CHECK(arena.get(half.d_b, count) == arena.get(back.d_b, count));
    CHECK(arena.get(back.d_a, count) == old);
    CHECK(arena.guards_hold());
  }
}

template <class Activation, class T, class G>
void backward_is_the_derivative(Case c, bool in_place, bool add) {
  using S = statistic_t<T>;
  constexpr bool identity = std::is_same_v<Activation, activation::Identity>;
  Arena arena;
  const Values x = values<T>(c.rows * c.columns, 6, 1), d_y = values<T>(x.size(), 1, 3);
  const Values b = c.bias ? values<T>(c.columns, 1, 2) : Values(c.columns, 0.0), old = values<G>(c.columns, 1, 4);
  op::BiasBackward<Activation, T, G> o{};
  o.d_y = arena.put<T>(d_y);
  if (!identity) o.x = arena.put<T>(x), o.d_x = in_place ? o.d_y : arena.room<T>(x.size());
  if (c.bias) o.bias = arena.put<T>(b), o.d_bias = add ? arena.put<G>(old) : arena.room<G>(c.columns);
  o.rows = c.rows, o.columns = c.columns, o.add = add;
  cpu::execute(o, arena.memory());
  Values d_x(x.size()), d_bias(c.columns), size(c.columns), error(c.columns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t column = i % c.columns;
    d_x[i] = d_y[i] * derivative_of<Activation>(x[i] + b[column]);
    d_bias[column] += d_x[i];
    size[column] += std::fabs(d_x[i]);
    error[column] += identity ? 0 : std::fabs(d_y[i]) * derivative_error<S>(x[i] + b[column]);
  }
  if (!identity) {
    CHECK(misses(arena.get(o.d_x, x.size()), d_x, [&](std::size_t i) {
            return std::fabs(d_y[i]) * derivative_error<S>(x[i] + b[i % c.columns]) + rounding_of<T>(d_x[i]);
          }) == 0);
  }
  if (c.bias) {
    // A sum of n terms, 128 at a time: each term passes through at most 128 + n/128 + 1 additions.
    const double depth = double(std::min<std::size_t>(c.rows, 128) + c.rows / 128 + 2);
    for (std::size_t k = 0; k < c.columns; ++k) d_bias[k] += add ? old[k] : 0;
    CHECK(misses(arena.get(o.d_bias, c.columns), d_bias, [&](std::size_t k) {
            return error[k] + depth * epsilon_of<S> * (size[k] + std::fabs(old[k])) + rounding_of<G>(d_bias[k]);
          }) == 0);
  }
  CHECK(arena.guards_hold());
}

using Types = std::tuple<std::pair<float, float>, std::pair<double, double>, std::pair<bf16, float>,
                         std::pair<bf16, bf16>, std::pair<fp16, fp16>>;

template <class F>
void for_each_activation(const F& f) {
  f(activation::Identity{}), f(activation::Relu{}), f(activation::Silu{}), f(activation::GeluErf{}),
      f(activation::GeluTanh{}), f(activation::Sigmoid{}), f(activation::Tanh{}), f(activation::HardSwish{});
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("bias and activation are the formula, of every shape, in place or not", "", Types) {
  using T = typename TestType::first_type;
  for_each_activation([]<class A>(A) {
    for (const Case c : {Case{1, 1, true}, Case{3, 17, true}, Case{5, 64, true}, Case{7, 10, false},
                         Case{200, 33, true}, Case{130, 257, true}}) {
      for (const bool in_place : {false, true}) forward_is_the_formula<A, T>(c, in_place);
    }
  });
}

TEMPLATE_LIST_TEST_CASE("backward gives d_x and d_bias in one pass, assigned or added", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  for_each_activation([]<class A>(A) {
    for (const Case c :
         {Case{1, 1, true}, Case{3, 17, true}, Case{7, 10, false}, Case{300, 33, true}, Case{130, 300, true}}) {
      for (const bool in_place : {false, true}) {
        for (const bool add : {false, true}) backward_is_the_derivative<A, T, G>(c, in_place, add);
      }
    }
  });
}

TEST_CASE("frozen biases: x is shifted, d_bias is not asked for") {
  Arena arena;
  const Values x = values<float>(30, 3, 1), b = values<float>(10, 1, 2), d_y = values<float>(30, 1, 3);
  op::BiasBackward<activation::GeluTanh, float, float> o{};
  o.x = arena.put<float>(x), o.bias = arena.put<float>(b), o.d_y = arena.put<float>(d_y), o.d_x = arena.room<float>(30);
  o.rows = 3, o.columns = 10;
  cpu::execute(o, arena.memory());
  Values expected(30);
  for (std::size_t i = 0; i < 30; ++i) expected[i] = d_y[i] * activation::GeluTanh::derivative(x[i] + b[i % 10]);
  CHECK(misses(arena.get(o.d_x, 30), expected, [](std::size_t) { return 30 * epsilon_of<float>; }) == 0);
}

TEST_CASE("the derivative is what finite differences say, in fp64") {
  // Central differences with h = 1e-6: truncation h²/6 · |f‴| < 1e-12, cancellation 2 · 2^-53 · |f| / 2h < 1e-9.
  for_each_activation([]<class A>(A) {
    constexpr std::size_t count = 41;
    constexpr double h = 1e-6;
    const auto at = [&](double shift) {
      Arena arena;
      Values x(count);
      for (std::size_t i = 0; i < count; ++i) x[i] = -5.05 + 0.25 * double(i) + shift;
      op::BiasActivation<A, double> o{};
      o.x = arena.put<double>(x), o.y = arena.room<double>(count), o.rows = 1, o.columns = count;
      cpu::execute(o, arena.memory());
      return arena.get(o.y, count);
    };
    const Values up = at(h), down = at(-h);
    Arena arena;
    Values x(count), expected(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = -5.05 + 0.25 * double(i), expected[i] = (up[i] - down[i]) / (2 * h);
    op::BiasBackward<A, double, double> o{};
    o.x = arena.put<double>(x), o.d_y = arena.put<double>(Values(count, 1.0)), o.d_x = arena.room<double>(count);
    o.rows = 1, o.columns = count;
    if (std::is_same_v<A, activation::Identity>) return;
    cpu::execute(o, arena.memory());
    CHECK(misses(arena.get(o.d_x, count), expected, [](std::size_t) { return 2e-9; }) == 0);
  });
}

TEMPLATE_LIST_TEST_CASE(
    "NaN goes through every activation, forward and backward, with and without a bias, wherever it stands", "", Types) {
  using T = typename TestType::first_type;
  using G = typename TestType::second_type;
  constexpr std::size_t columns = 37;  // full registers, and one that is not
  for_each_activation([]<class A>(A) {
    for (const double nan : {std::nan(""), -std::nan("")})  // what 0/0 gives has its sign set on x86
      for (const bool biased : {false, true})
        for (std::size_t at = 0; at < columns; ++at) {
          Arena arena;
          Values x(columns, 0.5);
          x[at] = nan;
          op::BiasActivation<A, T> o{};
          o.x = arena.put<T>(x), o.y = arena.room<T>(columns), o.rows = 1, o.columns = columns;
          if (biased) o.bias = arena.put<T>(Values(columns, 0.25));
          cpu::execute(o, arena.memory());
          const Values y = arena.get(o.y, columns);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < columns; ++i) wrong += std::isnan(y[i]) != (i == at);
          if (!std::is_same_v<A, activation::Identity>) {
            // Of the gradient as it comes in, and of the input, which Relu's derivative reads as above 0, as PyTorch
            // does.
            op::BiasBackward<A, T, G> back{};
            back.x = o.x, back.bias = o.bias, back.d_x = arena.room<T>(columns), back.rows = 1, back.columns = columns;
            back.d_y = arena.put<T>(Values(columns, 1.0));
            if (biased) back.d_bias = arena.room<G>(columns);
            cpu::execute(back, arena.memory());
            Values d_x = arena.get(back.d_x, columns);
            for (std::size_t i = 0; i < columns; ++i)
              wrong +=
                  std::isnan(d_x[i]) != (i == at && !std::is_same_v<A, activation::Relu>) || (i == at && d_x[i] == 0);
            back.x = arena.put<T>(Values(columns, 0.5)), back.d_y = arena.put<T>(x);
            cpu::execute(back, arena.memory());
            d_x = arena.get(back.d_x, columns);
            for (std::size_t i = 0; i < columns; ++i) wrong += std::isnan(d_x[i]) != (i == at);
          }
          CHECK(wrong == 0);
        }
    CHECK(std::isnan(A::value(std::nan(""))));
    CHECK(A::derivative(std::nan("")) != 0);
  });
}

TEST_CASE("activations stay finite where the formula does") {
  for_each_activation([]<class A>(A) {
    Arena arena;
    const Values x{2, 1e20, -1e20, 3e38, -3e38, 0, -0.0, 1e-40};
    op::BiasActivation<A, float> o{};
    o.x = arena.put<float>(x), o.y = arena.room<float>(8), o.rows = 1, o.columns = 8;
    cpu::execute(o, arena.memory());
    const Values y = arena.get(o.y, 8);
    for (std::size_t i = 0; i < 8; ++i) CHECK(std::isfinite(y[i]));
    if (std::is_same_v<A, activation::Identity>) return;
    op::BiasBackward<A, float, float> back{};
    back.x = o.x, back.d_y = arena.put<float>(Values(8, 1.0)), back.d_x = arena.room<float>(8), back.rows = 1,
    back.columns = 8;
    cpu::execute(back, arena.memory());
    const Values d_x = arena.get(back.d_x, 8);
    const double slope = is_factor<A> ? 0 : 1;
    CHECK(d_x[1] == slope);
    CHECK(std::fabs(d_x[2]) == 0);
    CHECK(d_x[3] == slope);
    CHECK(std::fabs(d_x[4]) == 0);
  });
}

TEST_CASE("the number of threads changes no bit of an activation or its gradients") {
  CHECK(same_for_any_threads([](Arena& arena) {
    const std::size_t rows = 700, columns = 333;
    op::BiasActivation<activation::GeluTanh, bf16> o{};
    o.x = arena.put<bf16>(values<bf16>(rows * columns, 3, 1)), o.bias = arena.put<bf16>(values<bf16>(columns, 1, 2));
    o.y = arena.room<bf16>(rows * columns), o.rows = rows, o.columns = columns;
    cpu::execute(o, arena.memory());
    op::BiasBackward<activation::GeluTanh, bf16, float> back{};
    back.x = o.x, back.bias = o.bias, back.d_y = o.y, back.d_x = arena.room<bf16>(rows * columns),
    back.d_bias = arena.room<float>(columns);
    back.rows = rows, back.columns = columns;
    cpu::execute(back, arena.memory());
  }));
}
// SPDX-License-Identifier: Apache-2.0

TEST_CASE("a gate is the product with an activation, and so are its gradients") {
  gates_are_the_formula<activation::Silu, float>();
  gates_are_the_formula<activation::Silu, double>();
  gates_are_the_formula<activation::GeluErf, bf16>();
  gates_are_the_formula<activation::Sigmoid, float>();
}
