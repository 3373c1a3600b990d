// bench/mlp_64_bf16.cpp — the MNIST lesson itself, bf16.
#include "models.hpp"

int main(int argc, char** argv) {
  return bench::measure_mlp<bench::Mlp64, regimen::Batch<64>, regimen::Precision<regimen::bf16, regimen::fp32>>(argc,
                                                                                                                argv);
}
// SPDX-License-Identifier: Apache-2.0
