// bench/mlp_4096.cpp — the MNIST lesson with two layers of 4096, fp32.
#include "models.hpp"

int main(int argc, char** argv) { return bench::measure_mlp<bench::Mlp4096, regimen::Batch<1024>>(argc, argv); }
// SPDX-License-Identifier: Apache-2.0
