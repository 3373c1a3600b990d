// A learning rate under the name that PyTorch has for it. Names of other libraries are known, and an error says how each is written
// here; to a name that nobody foresaw, the compiler answers in its own words that there is no such member.
// expect: the learning rate is the update rule's; write Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() { Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3}}}; }
#else
int main() { Trainer<Mlp> trainer{{.optimizer = {.lr = 1e-3}}}; }
#endif
