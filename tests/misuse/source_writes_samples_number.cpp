// A number of steps where validation data stand.
// expect: a number is no source; give it its name among the options, fit\(source, \{\.steps = 1000\}\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

int main() {
  Trainer<Mlp> trainer;
#ifndef REGIMEN_MISUSE
  trainer.fit(Fake(), {.steps = 1000});
#else
  trainer.fit(Fake(), 1000);
#endif
}
