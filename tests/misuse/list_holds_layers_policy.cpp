// A policy among the layers.
// expect: a list of layers holds a policy; write it behind the model, Trainer<Model, Policies\.\.\.>
// names: regimen::Batch<3>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Linear<6>, Batch<3>, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
