// examples/13_mnist_8192.cpp — lesson 13: a wide perceptron learns digits in batches of 8192, in five epochs.
//
//   mnist_8192 --data FOLDER     as in lesson 2; 95 % after two to three minutes on two cores
//
// The recipe of TensorFlow's guide to mixed precision: 20 million parameters, RMSprop with Keras' memory, 30 steps. It has
// 48,000 images to learn from; here they are four fifths of the 10,000 of the test set, each as it is and moved by a pixel
// in five directions.
#include "mnist.hpp"

using namespace regimen;

struct Wide : Model<Input<Vector<784>>,
                    Linear<4096>, Relu,        // (B,4096)
                    Linear<4096>, Relu,        // (B,4096)
                    Linear<10>> {};            // (B,10)

// Try: Precision<bf16, fp32> behind Batch<8192>, four times as fast where the processor multiplies in bf16.
int main(int argc, char** argv) {
  return mnist<Wide, Batch<8192>>(argc, argv, {.options = {.steps = 30, .validate_every = 6, .learning_rate = 1e-3}, .alpha = 0.9, .copies = 6});
}
// SPDX-License-Identifier: Apache-2.0
