// regimen/optimizer/lamb.hpp — Adam's steps, as long as the weights that they change.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/optimizer/moments.hpp>
#include <regimen/optimizer/weight_decay.hpp>

#include <array>
#include <cmath>
#include <cstddef>

namespace regimen {

namespace detail {

struct LambDirection;
/// lr·|w|/|r|, from squares.
struct LambRate final {
  REGIMEN_HD void operator()(double* n, const Scalars& s) const {
    n[0] = s.learning_rate * (n[0] > 0 && n[1] > 0 ? std::sqrt(n[0] / n[1]) : 1);
  }
};

}  // namespace detail

/// m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²
/// r = m̂ / (√v̂ + ε) + λ w,   m̂ = m / (1 − β₁ᵗ),  v̂ = v / (1 − β₂ᵗ)
/// w ← w − lr · |w| / |r| · r   with the Euclidean norms of each tensor; if one of them is 0, w ← w − lr · r
///
/// learning_rate  per step, >= 0: the share of its length by which a tensor moves; the step's own rate comes from the
///                schedule
/// beta1, beta2   in [0, 1): 1/(1 − β) is the memory in steps
/// epsilon        > 0, in units of the gradient
/// weight_decay   λ >= 0, for the parameters that the Optimizer chooses
/// source         You et al. 2020, algorithm 2, with φ(z) = z
/// cost           six operations for each tensor, and memory for two more tensors of Master; under a Shard that keeps
///                slices also the cost in docs/update_rules.md
struct Lamb final : detail::Moments {
  struct Options {
    double learning_rate = 1e-2;
    [[no_unique_address]] detail::Misnamed<misnamed::learning_rate> lr{};
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
    [[no_unique_address]] detail::Misnamed<misnamed::moments> betas{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 1> beta_1{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 2> beta_2{};
    [[no_unique_address]] detail::Misnamed<misnamed::moments, 3> eps{};
    detail::WeightDecay weight_decay = detail::WeightDecay::by_default(0.01);
  };
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t numbers = 2;
  /// r.
  static constexpr std::array<std::size_t, 1> scratch(std::size_t rows, std::size_t columns) {
    return {rows * columns};
  }

  using Direction = detail::LambDirection;
  using Rate = detail::LambRate;

  template <class M>
  static constexpr void update_tensor(auto& walk, const TensorViews<M, Lamb>& t, const Options& o) {
    using Sum = op::ScaledSum<M, M>;
    const std::size_t count = t.count();
    const View<M> r = t.scratch[0];
    op::Update<Direction, M, M, M> direction{.master = r,
                                             .state = t.state[0],
                                             .gradient = t.gradient,
                                             .scalars = t.scalars,
                                             .count = count,
                                             .state_stride = (t.state[1].offset - t.state[0].offset) / sizeof(M),
                                             .options = o,
                                             .divided = true};
    direction.segments.items[0] = {0, count, false};
    direction.segments.count = 1;
    walk.run(direction);
    if (t.decays) walk.run(Sum{.x = t.weight, .y = r, .count = count, .a = {o.weight_decay}, .b = {1}});
    walk.run(op::Zero<double>{t.numbers, numbers});
    walk.run(op::SumOfSquares<M>{t.weight, t.numbers, count});
    walk.run(op::SumOfSquares<M>{r, t.numbers + 1, count});
    walk.run(op::Calculate<Rate>{t.numbers, t.scalars, numbers});
    walk.run(Sum{.x = r, .y = t.weight, .count = count, .a = {-1, t.numbers}, .b = {1}, .scalars = t.scalars});
  }
};

namespace detail {

/// An elementwise rule: moves the moments, and writes r − λ w.
struct LambDirection final : Moments {
  using Options = Lamb::Options;
  template <class S>
  struct Coefficients : Moments::Coefficients<S> {
    REGIMEN_HD explicit Coefficients(const Options& o, const Scalars& s) : Moments::Coefficients<S>(o, s, 0) {
      this->step = static_cast<S>(s.correction_first);
    }
  };
  REGIMEN_HD_UNCHECKED
  template <class V, class S>
  REGIMEN_HD static void update(V& direction, V gradient, V (&state)[2], const Coefficients<S>& c, bool) {
    direction = Moments::step(gradient, state, c);
  }
};

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
