// examples/09_resnet.cpp — lesson 9: a published network as a type, and a smaller one of its kind that learns in seconds.
//
//   resnet                    on drawn pictures
//   resnet --data FOLDER      on CIFAR-10, the binary files
#include "pictures.hpp"

#include <regimen/models/resnet.hpp>

using namespace regimen;

// Keras' ResNet50(weights=None, include_top=False, pooling="max", input_shape=(32, 32, 3)) and Dense(10), as it is: the stride in
// the first 1x1, its norms, and biases before norms, which have no effect and are there all the same.
struct Keras : ResNet50<Image<32, 32, 3>, 10, resnet::StrideInFirst, resnet::ConvBias, resnet::KerasNorm, resnet::MaxPooling> {};
static_assert(Keras::parameter_count == 23'555'082);
// It fits a GPU of 40 GB with a batch of 1024.
static_assert(Trainer<Keras, Optimizer<RmsProp>, Batch<1024>>::plan().fits(targets::a100_40g{}));

// Its head with basic blocks, a stem for small pictures, and an eighth of the channels.
struct Small : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem, resnet::MaxPooling, resnet::Width<8>> {};

// Try: pictures::train<Keras, Batch<32>>(…); pictures::train<Small, Precision<bf16, fp32>>(…).
int main(int argc, char** argv) { return pictures::train<Small>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
