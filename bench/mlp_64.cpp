// bench/mlp_64.cpp — the MNIST lesson itself, fp32.
#include "models.hpp"

int main(int argc, char** argv) { return bench::measure_mlp<bench::Mlp64, regimen::Batch<64>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
