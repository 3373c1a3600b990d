// Batches of a source that is gone when the first of them is read.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::Fake
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

int main() {
  Trainer<Mlp> trainer;
#ifndef REGIMEN_MISUSE
  const Fake source({.samples = 100, .classes = 3});
  auto batches = trainer.batches(source, {.epochs = 1});
#else
  auto batches = trainer.batches(Fake({.samples = 100, .classes = 3}), {.epochs = 1});
#endif
  for (auto next = batches.next(); next; next = batches.next()) trainer.step(next.input, next.target);
}
