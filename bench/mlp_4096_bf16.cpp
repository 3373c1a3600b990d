// bench/mlp_4096_bf16.cpp — the MNIST lesson with two layers of 4096, bf16.
#include "models.hpp"

int main(int argc, char** argv) {
  return bench::measure_mlp<bench::Mlp4096, regimen::Batch<1024>, regimen::Precision<regimen::bf16, regimen::fp32>>(
      argc, argv);
}
// SPDX-License-Identifier: Apache-2.0
