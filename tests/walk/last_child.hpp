// tests/walk/last_child.hpp — a network against the same one with a layer behind it that changes nothing.
#pragma once

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/cast.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>

#include <cstring>
#include <vector>

#include "support/catch.hpp"

namespace regimen::test {

/// Every gradient of one step of two batches, the second a short one, and what the scalars say; in memory of the
/// planned size.
template <class Recipe>
std::vector<double> gradients_of(bool poison) {
  using Step = typename Recipe::Step;
  walk::Walk<cpu::Engine> walk(Recipe::batch, std::size_t{1}, std::size_t{0},
                               engines::Resources<cpu::Engine::Ranks>{Recipe::plan.peak});
  cpu::Engine& engine = walk.engine;
  walk.arena.capacity = Recipe::plan.peak;
  const programs::Resident resident = Step::setup(walk);
  const Scalars& scalars = *engine.data(resident.scalars);
  engine.data(resident.scalars)->loss_scale = 1;
  const auto tensors = programs::list_tensors<typename Recipe::Bound>();
  std::uint64_t drawn = 0;
  const auto draw = [&] { return double(Philox::draw(7, drawn++, 0).word[0] % 2001) / 1000 - 1; };
  for (const programs::TensorRecord& tensor : tensors) {
    auto* const values = engine.data(View<double>{resident.parameters + tensor.unit.parameters + tensor.master_offset +
                                                  tensor.master * sizeof(double)});
    for (std::size_t i = 0; i < tensor.place.count; ++i) values[i] = draw();
  }
  if (poison) walk.poison_dead();
  std::vector<double> outcome;
  for (std::size_t batch : {Recipe::batch, Recipe::batch - 1}) {
    walk.batch = batch;
    auto* const input = engine.data(View<typename Step::X::Element>{resident.input});
    for (std::size_t i = 0; i < batch * Step::X::size; ++i)
      input[i] = static_cast<typename Step::X::Element>(std::is_integral_v<typename Step::X::Element> ? double(i % 7)
                                                                                                      : draw());
    auto* const target = engine.data(View<typename Step::Labels::Element>{resident.target});
    for (std::size_t i = 0; i < batch * Step::Labels::size; ++i) target[i] = draw();
    Step::begin(walk, resident);
    Step::backward(walk, resident, Step::forward(walk, resident, false), 0);
    outcome.push_back(scalars.loss_sum);
    for (const programs::TensorRecord& tensor : tensors) {
      const auto* const values = engine.data(
          View<double>{resident.gradients + tensor.unit.gradients + tensor.place.gradient * sizeof(double)});
      outcome.insert(outcome.end(), values, values + tensor.place.count);
    }
  }
  CHECK(walk.arena.peak <= Recipe::plan.peak);
  return outcome;
}

template <class Network>
struct with_flatten;
template <class In, class... Layers>
struct with_flatten<Model<In, Layers...>> {
  using type = Model<In, Layers..., Flatten>;
};

/// Gradients as calculus has them, and bit for bit those of the network with Flatten behind it; nothing dead is read.
template <class Layers, class... Policies>
void holds_as_last(const char* what, double distance = 1e-3, double tolerance = 1e-8) {
  INFO(what);
  using Recipe =
      programs::Recipe<Layers,
                       ConfigurationOf<Loss<MeanSquaredError>, Optimizer<Sgd>, Precision<fp64>, Batch<3>, Policies...>>;
  using Behind =
      programs::Recipe<typename with_flatten<Layers>::type,
                       ConfigurationOf<Loss<MeanSquaredError>, Optimizer<Sgd>, Precision<fp64>, Batch<3>, Policies...>>;
  const std::vector<double> clean = gradients_of<Recipe>(false);
  CHECK(clean == gradients_of<Recipe>(true));
  CHECK(clean == gradients_of<Behind>(true));
  const GradientCheck found = regimen::detail::GradientProbe<Recipe>(1).check({4, distance});
  INFO(found.tensor << "[" << found.element << "], " << found.checked << " checked, worst " << found.worst);
  CHECK(found.worst < tolerance);
  CHECK(found.checked > 0);
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
