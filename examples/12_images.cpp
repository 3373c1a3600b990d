// SPDX-License-Identifier: Apache-2.0
// examples/12_images.cpp — lesson 12: a network learns a folder of your own images.
//
//   images --images FOLDER     FOLDER/cats/1.jpg, FOLDER/cats/2.png, FOLDER/dogs/1.jpg, ...
//
// examples/run.sh --images FOLDER installs what is missing, builds this program and runs it.
#include "images.hpp"

#include <regimen/models/resnet.hpp>

using namespace regimen;

// Images are brought to 64 x 64. The network has more outputs than most folders have classes: the others are soon unlikely.
constexpr std::size_t side = 64, classes = 128;
struct Small : ResNet18<regimen::Image<side, side, 3>, classes, resnet::Width<16>> {};

// Try: side = 224 and ResNet50<>; images::train<Small, side, classes, Precision<bf16, fp32>>(…).
int main(int argc, char** argv) { return images::train<Small, side, classes>(argc, argv); }
