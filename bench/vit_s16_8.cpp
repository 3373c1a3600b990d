// bench/vit_s16_8.cpp — ViT-S/16 on images of 224 x 224, batches of 8, fp32.
#include "vision.hpp"

int main(int argc, char** argv) { return bench::measure_images<regimen::VitSmall16, regimen::Batch<8>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
