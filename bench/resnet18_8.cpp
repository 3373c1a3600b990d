// bench/resnet18_8.cpp — ResNet-18 on images of 32 x 32, batches of 8, fp32.
#include "vision.hpp"

int main(int argc, char** argv) { return bench::measure_images<bench::CifarResNet18, regimen::Batch<8>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
