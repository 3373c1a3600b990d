// A step from inputs alone.
// expect: a step takes inputs and targets; write step\(inputs, targets\), or predict\(inputs\) for outputs
#include <regimen/regimen.hpp>

#include <vector>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() {
  Train trainer;
  const std::vector<float> inputs{1, 2, 3, 4};
  const std::vector<std::int32_t> targets{1};
  trainer.step(inputs, targets);
}
#else
int main() {
  Train trainer;
  const std::vector<float> inputs{1, 2, 3, 4};
  trainer.step(inputs);
}
#endif
