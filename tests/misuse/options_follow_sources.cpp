// Numbers of steps without a name.
// expect: fit takes a source, perhaps one for validation, then its options; write fit\(source, {\.steps = 1000}\)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, data, {.steps = 5, .validate_every = 6});
}
#else
int main() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, 5, 6);
}
#endif
