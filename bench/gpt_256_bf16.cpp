// bench/gpt_256_bf16.cpp — the GPT lesson, 4 layers of 256, context 128, bf16.
#include "models.hpp"

int main(int argc, char** argv) {
  return bench::measure_gpt<bench::Gpt256, regimen::Batch<16>, regimen::Precision<regimen::bf16, regimen::fp32>>(argc,
                                                                                                                 argv);
}
// SPDX-License-Identifier: Apache-2.0
