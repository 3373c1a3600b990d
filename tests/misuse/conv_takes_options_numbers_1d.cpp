// The same of positions: Conv1d(8, 64, 3).
// expect: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>
// names: regimen::in_order::Conv1d<8, 64, 3>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Series<16, 8>>, Conv1d<64, 3>, Relu, MeanPool, Linear<4>> {};
#else
struct Net : Model<Input<Series<16, 8>>, Conv1d<8, 64, 3>, Relu, MeanPool, Linear<4>> {};
#endif

int main() { return sizeof(Trainer<Net>) == 0; }
