// A whole program around a recipe that does not compose: one error, whatever else it does.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
#include "../support/recipe.hpp"

#include <regimen/optimizer/sgd.hpp>

#include <cstdio>

using namespace regimen;

struct Data {};

#ifndef REGIMEN_MISUSE
using Train = Recipe<Net, Batch<8>, Precision<fp16, fp32>, Optimizer<Sgd>, LossScale<Dynamic>>;
#else
using Train = Recipe<Net, Batch<8>, Precision<fp16, fp32>, Optimizer<Sgd>>;
#endif

int main() {
  static_assert(Train::plan().fits(targets::h200{}));
  constexpr auto plan = Train::plan();
  static_assert(plan.peak < 1_GiB);
  Train plain;
  Train trainer{{.optimizer = {.learning_rate = 3e-4, .momentum = 0.9}}};
  Train::Options options;
  options.optimizer.learning_rate = 1e-3;
  Train other{options};
  Data data;
  trainer.fit(data, {.steps = 1000});
  plain.fit(Data{}, {.steps = 1000, .epochs = 2});
  const double loss = trainer.step(data).loss;
  for (auto& parameter : trainer.parameters()) std::printf("%s\n", parameter.name);
  std::printf("%f %f %zu\n", trainer.evaluate(data).loss, loss, plan.peak);
  trainer.save("state.safetensors");
  return trainer.evaluate(data).loss < 2.0 ? 0 : 1;
}
