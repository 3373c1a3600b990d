// A second input after the first.
// expect: a list of layers holds an Input; a model has one, and begins with it
// names: regimen::Vector<6>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Linear<6>, Input<Vector<6>>, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
