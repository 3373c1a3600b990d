// Another name for the number of epochs.
// expect: fit takes \.steps and \.epochs, of the whole run; write fit\(source, \{\.steps = 1000\}\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.epochs = 10, .validate_every = 100});
}
#else
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), Fake(), {.max_epochs = 10, .validate_every = 100});
}
#endif
