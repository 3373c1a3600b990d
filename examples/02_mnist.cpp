// examples/02_mnist.cpp — lesson 2: a perceptron learns digits with fit, in mixed precision by one policy.
//
//   mnist --data FOLDER     with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz
//   mnist                   on made-up images
#include "mnist.hpp"

using namespace regimen;

struct Mlp : Model<Input<Vector<784>>,
                   Linear<64>, Relu,        // (B,64)
                   Linear<64>, Relu,        // (B,64)
                   Linear<10>> {};          // (B,10), always at least fp32

// Activations and gradients in bf16; weights and the optimizer's state in fp32.
// Try: mnist<Mlp>(…) in fp32, mnist<Mlp, Precision<fp16, fp32>, LossScale<Dynamic>>(…) in fp16; without the LossScale a
// compile error asks for one.
int main(int argc, char** argv) { return mnist<Mlp, Precision<bf16, fp32>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
