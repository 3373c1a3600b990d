// tests/device/trainer.cu — a GPT trains on Device<Cuda> what it trains on the CPU, in every format.
//
// Most of it is host code, and bench/compile/registers.cu compiles the kernels for all GPUs; so it is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
// With the argument `small` it trains a few steps in bf16 alone, for compute-sanitizer.
#include "trains.hpp"

#include <string_view>

using namespace regimen;
using test::agree;

int main(int argc, char** argv) {
  if (!test::is_there()) return 77;
  if (argc > 1 && std::string_view(argv[1]) == "small") {
    test::steps = 8;
    return agree<Precision<bf16, fp32>>("bf16") ? 0 : 1;
  }
  bool holds = agree<Precision<fp64>>("fp64");
  holds = agree<Precision<fp32>>("fp32") && holds;
  holds = agree<Precision<tf32>>("tf32") && holds;
  holds = agree<Precision<bf16, fp32>>("bf16") && holds;
  holds = agree<Precision<fp16, fp32>>("fp16") && holds;
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
