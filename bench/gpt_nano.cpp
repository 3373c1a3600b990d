// bench/gpt_nano.cpp — the GPT lesson in nanoGPT's CPU setting, fp32.
#include "models.hpp"

int main(int argc, char** argv) { return bench::measure_gpt<bench::GptNano, regimen::Batch<12>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
