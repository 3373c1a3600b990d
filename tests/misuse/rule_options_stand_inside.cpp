// A learning rate among the Trainer's own options.
// expect: these options are the update rule\'s; write them inside, Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
// names: regimen::AdamW::Options
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
int main() { Train trainer{{.optimizer = {.learning_rate = 1e-3}}}; }
#else
int main() { Train trainer{{.learning_rate = 1e-3}}; }
#endif
