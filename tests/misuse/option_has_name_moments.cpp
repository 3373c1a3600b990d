// Adam's decay rates in a pair, as PyTorch has them.
// expect: this option has another name; write \.beta1, \.beta2, \.epsilon \(RmsProp: \.alpha\), each with one number
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() { Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.95}}}; }
#else
int main() { Trainer<Mlp> trainer{{.optimizer = {.learning_rate = 1e-3, .betas = {0.9, 0.95}}}}; }
#endif
