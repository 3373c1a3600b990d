// tests/support/lars.hpp — the update rule that docs/update_rules.md shows, by operations.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rules {

// docs: begin
/// m ← μ m + rate (g + λ w), w ← w − m; rate = lr · trust · |w| / (|g| + λ |w|), for each tensor
struct Lars final {  // You, Gitman, Ginsburg 2017, algorithm 1
  struct Options {
    double learning_rate = 1, momentum = 0.9, weight_decay = 1e-2, trust = 1e-2;
  };
  static constexpr bool sees_whole_tensors = true;
  static constexpr std::size_t states = 1, numbers = 2;
  static constexpr std::array<const char*, 1> state_names{"momentum"};
  REGIMEN_HD static double correction_first(const Options&, std::uint64_t) { return 1; }
  REGIMEN_HD static double correction_second(const Options&, std::uint64_t) { return 1; }

  struct Rate {  // arithmetic on numbers of the device
    double trust, decay;
    REGIMEN_HD void operator()(double* n, const regimen::Scalars& s) const {
      const double weight = std::sqrt(n[0]), below = std::sqrt(n[1]) + decay * weight;
      n[0] = s.learning_rate * (weight > 0 && below > 0 ? trust * weight / below : 1);
    }
  };

  template <class M>
  static constexpr void update_tensor(auto& walk, const regimen::TensorViews<M, Lars>& t, const Options& o) {
    namespace op = regimen::op;
    const double decay = t.decays ? o.weight_decay : 0;
    walk.run(op::Zero<double>{t.numbers, numbers});
    walk.run(op::SumOfSquares<M>{t.weight, t.numbers, t.count()});
    walk.run(op::SumOfSquares<M>{t.gradient, t.numbers + 1, t.count()});
    walk.run(op::Calculate<Rate>{t.numbers, t.scalars, numbers, {o.trust, decay}});
    walk.run(op::ScaledSum<M, M>{t.weight, t.gradient, t.count(), {decay}, {1}});
    walk.run(op::ScaledSum<M, M>{t.gradient, t.state[0], t.count(), {1, t.numbers}, {o.momentum}, t.scalars});
    walk.run(op::ScaledSum<M, M>{t.state[0], t.weight, t.count(), {-1}, {1}, t.scalars});
  }
};
// docs: end

}  // namespace rules
// SPDX-License-Identifier: Apache-2.0
