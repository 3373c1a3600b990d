// A callback that takes only the result of a step.
// expect: fit never calls this; write a callback of \(auto& trainer, const StepResult&\), or of const Evaluation&
#include <regimen/regimen.hpp>

#include <cstdio>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net> trainer;
#ifndef REGIMEN_MISUSE
  const auto print = [](auto&, const StepResult& step) {
#else
  const auto print = [](const StepResult& step) {
#endif
    std::printf("%f\n", step.loss);
  };
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.steps = 100}, print);
}
