// The channels of the input, and a stride without its name, as PyTorch has them: Conv2d(3, 64, 7, 2).
// expect: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>
// names: regimen::in_order::Conv2d<3, 64, 7, 2>
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Image<32, 32, 3>>, Conv2d<64, 7, Stride<2>>, Relu, GlobalAveragePool, Linear<4>> {};
#else
struct Net : Model<Input<Image<32, 32, 3>>, Conv2d<3, 64, 7, 2>, Relu, GlobalAveragePool, Linear<4>> {};
#endif

int main() { return sizeof(Trainer<Net>) == 0; }
