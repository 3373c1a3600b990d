// A loss without its arguments: Huber has the distance at which squares end.
// compiler: (type/value mismatch at argument 1 in template parameter list|use of class template .* requires template arguments|argument list for class template .* is missing)
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};

int main() {
#ifndef REGIMEN_MISUSE
  Trainer<Net, Loss<Huber<Ratio<1>>>> trainer;
#else
  Trainer<Net, Loss<Huber>> trainer;
#endif
}
