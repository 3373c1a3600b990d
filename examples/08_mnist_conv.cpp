// examples/08_mnist_conv.cpp — lesson 8: the digits of lesson 2, seen as images.
//
//   mnist_conv --data FOLDER     as in lesson 2
//
// It has a sixth of the parameters of lesson 2's perceptron, and after 200 steps knows more digits than that after 1250.
#include "mnist.hpp"

using namespace regimen;

template <std::size_t Channels>
using Level = Sequential<Conv2d<Channels, 3, Padding<1>, NoBias>, BatchNorm<>, Relu, MaxPool<2>>;

struct Digits : Model<Input<Image<28, 28, 1>>,
                      Level<8>,                            // (B,14,14,8)
                      Level<16>,                           // (B,7,7,16)
                      Flatten, Linear<10>> {};             // (B,10)

// A bias before a BatchNorm has no effect: Conv2d<Channels, 3, Padding<1>>, without NoBias, is a compile error that says so.
int main(int argc, char** argv) { return mnist<Digits>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
