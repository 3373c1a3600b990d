// A model as an object, as in other libraries.
// expect: a model is a type, and a Trainer holds its weights; write Trainer<Model> trainer
// names: Mlp
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() { Trainer<Mlp> trainer; }
#else
int main() {
  Mlp model;
  Trainer trainer(model);
}
#endif
