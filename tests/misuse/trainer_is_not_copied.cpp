// A copy of a Trainer.
// expect: a Trainer is neither copied nor moved; pass it by reference, or keep it in a std::unique_ptr
// names: regimen::Trainer<Mlp>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void use(Train&) {}
int main() {
  Train trainer;
  use(trainer);
}
#else
void use(Train) {}
int main() {
  Train trainer;
  use(trainer);
}
#endif
