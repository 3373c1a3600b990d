// The same one level higher, or assigned.
// expect: the learning rate is the update rule's; write Train trainer\{\{\.optimizer = \{\.learning_rate = 1e-3\}\}\}
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() {
  Trainer<Mlp>::Options options{.seed = 7};
  options.optimizer.learning_rate = 1e-3;
  Trainer<Mlp> trainer{options};
}
#else
int main() {
  Trainer<Mlp>::Options options{.lr = 1e-3, .seed = 7};
  options.optimizer.lr = 1e-3;
  Trainer<Mlp> trainer{options};
}
#endif
