// tests/train/plan_agrees.hpp — a plan as a constant, at run time, and with every iteration evaluated, is one and the
// same.
#pragma once

#include "support/catch.hpp"
#include "train/odd_models.hpp"

namespace regimen::test {

constexpr bool same(const Cost& a, const Cost& b) {
  const auto close = [](double x, double y) { return x - y <= 1e-9 * (x + y) && y - x <= 1e-9 * (x + y); };
  return close(a.flops, b.flops) && close(a.bytes, b.bytes) && a.operations == b.operations;
}
template <class Walk>
bool same(const Walk& a, const Walk& b) {
  return a.arena.peak == b.arena.peak && a.arena.peak_of_live == b.arena.peak_of_live && a.arena.top == b.arena.top &&
         same(a.engine.cost[0], b.engine.cost[0]) && same(a.engine.cost[1], b.engine.cost[1]) &&
         same(a.engine.cost[2], b.engine.cost[2]);
}

/// Returns the peak.
template <class Network, class... Policies>
std::size_t agrees(const char* what) {
  using Recipe = programs::Recipe<Network, ConfigurationOf<Batch<3>, Policies...>>;
  constexpr MemoryPlan constant = Recipe::plan;
  volatile std::size_t hidden = 3;
  const MemoryPlan now = Recipe::make_plan(hidden);
  INFO(what);
  CHECK(constant.peak == now.peak);
  CHECK(constant.peak_of_live == now.peak_of_live);
  CHECK(constant.kinds == now.kinds);
  CHECK(constant.operations() == now.operations());
  std::size_t sum = 0;
  for (std::size_t bytes : constant.kinds) sum += bytes;
  CHECK(sum == constant.peak);
  CHECK(constant.peak_of_live <= constant.peak);
  for (std::size_t batch : {std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
    CHECK(same(Recipe::walk_step(batch), Recipe::walk_step(batch, true)));
    CHECK(same(Recipe::walk_evaluation(batch), Recipe::walk_evaluation(batch, true)));
  }
  for (const detail::LiveTensors::Line& line : constant.largest) CHECK(line.bytes() <= constant.peak);
  CHECK(constant.largest[0].item.path.digits == now.largest[0].item.path.digits);
  return constant.peak;
}

template <class Network>
void agrees_under_all(const char* what) {
  agrees<Network>(what);
  agrees<Network, Checkpoint<Every<1>>>(what);
  agrees<Network, Checkpoint<Every<2>>, Precision<bf16, fp32>>(what);
  agrees<Network, Checkpoint<Selective<LayerNorm, Gelu>>>(what);
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
