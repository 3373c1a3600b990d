// A layer without its arguments: a linear layer has the number of its outputs. What stands where a type belongs and is none, C++
// itself answers, before the library can speak; so it does to Loss<Huber>, where Huber<Ratio<1>> is meant.
// compiler: (type/value mismatch at argument 2 in template parameter list|use of class template .* requires template arguments|argument list for class template .* is missing)
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<8>>, Linear, Relu, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
