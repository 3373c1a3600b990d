// examples/03_mnist_custom_loop.cpp — lesson 3: the same digits by a loop written by hand (by_hand.hpp), in fp16.
//
//   mnist_custom_loop --data FOLDER     as in lesson 2
//
// Forward, scale, backward, unscale, apply: the resulting weights equal those of fit bit for bit.
#include "by_hand.hpp"
#include "mnist.hpp"

using namespace regimen;

struct Mlp : Model<Input<Vector<784>>, Linear<64>, Relu, Linear<64>, Relu, Linear<10>> {};

int main(int argc, char** argv) { return mnist_by<mnist_lesson::ByHand, Mlp, Precision<fp16, fp32>, LossScale<Dynamic>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
