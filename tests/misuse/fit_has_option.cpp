// Another name for the number of steps. (Of these names alone: to a name that nobody foresaw, the compiler answers in its own words that no `fit` takes
// the list.)
// expect: fit takes \.steps and \.epochs, of the whole run; write fit\(source, \{\.steps = 1000\}\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() {
  Train trainer;
  trainer.fit(Fake(), {.steps = 10});
}
#else
int main() {
  Train trainer;
  trainer.fit(Fake(), {.step = 10});
}
#endif
