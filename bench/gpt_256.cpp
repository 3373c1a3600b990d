// bench/gpt_256.cpp — the GPT lesson, 4 layers of 256, context 128, fp32.
#include "models.hpp"

int main(int argc, char** argv) { return bench::measure_gpt<bench::Gpt256, regimen::Batch<16>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
