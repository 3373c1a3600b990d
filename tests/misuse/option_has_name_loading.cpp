// An option of PyTorch's DataLoader.
// expect: how fit reads is \.order, \.remainder and \.workers; write \{\.order = Order::Sequential, \.workers = 2\}
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .order = Order::Sequential});
}
#else
int main() {
  Trainer<Mlp> trainer;
  trainer.fit(Fake(), {.epochs = 3, .shuffle = false});
}
#endif
