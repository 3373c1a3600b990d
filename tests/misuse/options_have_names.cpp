// A number that could be any option.
// expect: a Trainer takes its options by name; write Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
// names: double
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() { Train trainer{{.optimizer = {.learning_rate = 1e-3}}}; }
#else
int main() { Train trainer(1e-3); }
#endif
