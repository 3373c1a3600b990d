// bench/vit_s16_8_bf16.cpp — vit_s16_8, bf16.
#include "vision.hpp"

int main(int argc, char** argv) {
  return bench::measure_images<regimen::VitSmall16, regimen::Batch<8>,
                               regimen::Precision<regimen::bf16, regimen::fp32>>(argc, argv);
}
// SPDX-License-Identifier: Apache-2.0
