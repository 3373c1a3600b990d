// Three sources.
// expect: fit takes a source, perhaps one for validation, then its options; write fit\(source, {\.steps = 1000}\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, data, {.steps = 5}, [](auto&, const StepResult& step) { return step.loss < 100; });
}
#else
int main() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, data, data, {.steps = 5}, [](auto&, const StepResult& step) { return step.loss < 100; });
}
#endif
