// bench/vit_s16.cpp — ViT-S/16 on images of 224 x 224, batches of 128, fp32.
#include "vision.hpp"

int main(int argc, char** argv) { return bench::measure_images<regimen::VitSmall16, regimen::Batch<128>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
