// How often a run is evaluated, by the name that transformers has.
// expect: fit evaluates every so many steps; write fit\(source, validation, \{\.validate_every = 100\}\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.steps = 1000, .validate_every = 100});
}
#else
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.steps = 1000, .eval_steps = 100});
}
#endif
