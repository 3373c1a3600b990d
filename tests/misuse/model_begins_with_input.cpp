// A model without its Input.
// expect: a model begins with its input; write Model<Input<\.\.\.>, Layers\.\.\.>
// names: Net
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Linear<6>, Relu, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
