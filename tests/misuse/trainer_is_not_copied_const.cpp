// A copy of a Trainer that is const. A copy constructor that C++20 knows as deleted, so that std::is_copy_constructible is false, has no words of
// its own: the compiler says that it is deleted. (A Trainer that is not const gets the sentence of trainer_is_not_copied.)
// compiler: deleted (function|constructor)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void use(const Train&) {}
int main() {
  const Train trainer;
  use(trainer);
}
#else
void use(Train) {}
int main() {
  const Train trainer;
  use(trainer);
}
#endif
