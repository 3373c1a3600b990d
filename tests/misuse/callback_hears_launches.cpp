// A callback of one result, where a launch has several steps.
// expect: under Steps<K> fit calls after K steps; write a callback of \(auto& trainer, std::span<const StepResult>\)
// names: regimen::Steps<8
#include <regimen/regimen.hpp>

#include <cstdio>
#include <span>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net, Steps<8>> trainer;
#ifndef REGIMEN_MISUSE
  const auto print = [](auto&, std::span<const StepResult> steps) {
    for (const StepResult& step : steps) std::printf("%f\n", step.loss);
  };
#else
  const auto print = [](auto&, const StepResult& step) {
    std::printf("%f\n", step.loss);
  };
#endif
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.steps = 100}, print);
}
