// The size of a batch among the options of a run: it decides where every tensor lies, so it is part of the type.
// expect: this is a policy, which the compiler must know; write Trainer<Model, Batch<32>, Device<Cuda>>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() {
  Trainer<Mlp, Batch<32>> trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(Fake(), {.epochs = 3});
}
#else
int main() {
  Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3}, .batch_size = 32}};
  trainer.fit(Fake(), {.epochs = 3});
}
#endif
