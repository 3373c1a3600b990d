// A loss of a program's own, with an operation of its own: it has the gradients of calculus, trains, and in
// micro-batches is the same loss.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;

namespace own_loss {

/// sum (left half of z - right half of z)²; with `gradient` its derivative overwrites z
template <bool gradient, class T>
struct HalvesDiffer final {
  static constexpr const char* name = "halves_differ";
  View<T> z;
  View<Scalars> scalars;
  std::size_t rows = 0, columns = 0;
  double scale = 1;
  constexpr Cost cost() const { return {6.0 * double(rows * columns), 2.0 * double(rows * columns) * sizeof(T), 1}; }
};
template <bool gradient, class T>
void compute(const HalvesDiffer<gradient, T>& o, const cpu::Memory& at) {
  Scalars& s = *at(o.scalars);
  const std::size_t half = o.columns / 2;
  for (std::size_t row = 0; row < o.rows; ++row)
    for (std::size_t i = 0; i < half; ++i) {
      T &left = at(o.z)[row * o.columns + i], &right = at(o.z)[row * o.columns + half + i];
      const double difference = double(left) - double(right);
      s.loss_sum += difference * difference;
      if constexpr (gradient) {
        left = static_cast<T>(2 * difference * o.scale * s.loss_scale);
        right = -left;
      }
    }
  s.count += double(o.rows);
}

struct Pull final {
  using option_of = axis::loss;
  static constexpr bool couples_samples = false;
  template <class Output>
  using Labels = Value<std::int32_t, Shape<1>>;
  template <class Output>
  static constexpr std::size_t rows = 1;
  template <bool gradient, class Output>
  static constexpr void run(auto& walk, std::size_t output, std::size_t, View<Scalars> scalars, double scale) {
    walk.run(HalvesDiffer<gradient, typename Output::Element>{{output}, scalars, walk.batch, Output::size, scale});
  }
};

}  // namespace own_loss

namespace {

struct Net : Model<Input<Vector<8>>, Linear<16>, Gelu, Linear<8>> {};

template <class... Policies>
std::vector<double> trained(std::size_t micro_batches) {
  using Train = Trainer<Net, Loss<own_loss::Pull>, Precision<fp64>, Policies...>;
  Train trainer;
  trainer.poison_dead_memory();
  std::vector<double> losses;
  trainer.fit(Fake({.samples = 64, .classes = 4}), {.steps = 30, .progress = false},
              [&](auto&, const StepResult& step) { losses.push_back(step.loss); });
  CHECK(trainer.used().peak == Train::plan().peak);
  CHECK(Train::micro_batches == micro_batches);
  return losses;
}

}  // namespace

TEST_CASE("a loss of a program's own has the gradients of calculus") {
  const GradientCheck found = gradient_check<Net, Loss<own_loss::Pull>, Batch<3>, Accumulate<2>>();
  CHECK(found.checked > 0);
  CHECK(found.worst < 1e-8);
}

TEST_CASE("a loss of a program's own trains, and four micro-batches are one batch, within rounding") {
  const std::vector<double> whole = trained<Batch<16>>(1), parts = trained<Batch<4>, Accumulate<4>>(4);
  CHECK(whole.back() < 0.5 * whole.front());
  REQUIRE(parts.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(parts[i] - whole[i]) < 1e-10 * whole[0]);
}
// SPDX-License-Identifier: Apache-2.0
