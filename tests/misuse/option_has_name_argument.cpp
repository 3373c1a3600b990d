// Validation data among the options, as Keras has them: they are an argument, as callbacks and metrics are.
// expect: this is an argument of fit; write fit\(source, validation, \{\.epochs = 3\}, Accuracy\{\}, callback\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.epochs = 3});
}
#else
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .validation_data = Fake()});
}
#endif
