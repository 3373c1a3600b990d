// An object where a type belongs: a model is a list of types, without braces.
// compiler: (type/value mismatch at argument|template argument for template type parameter must be a type|expected a type specifier|expected a ">")
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<8>>, Linear<16>{}, Relu, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
