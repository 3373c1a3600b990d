// bench/gpt_nano_bf16.cpp — the GPT lesson in nanoGPT's CPU setting, bf16.
#include "models.hpp"

int main(int argc, char** argv) {
  return bench::measure_gpt<bench::GptNano, regimen::Batch<12>, regimen::Precision<regimen::bf16, regimen::fp32>>(argc,
                                                                                                                  argv);
}
// SPDX-License-Identifier: Apache-2.0
