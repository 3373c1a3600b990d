// tests/device/trainer_more.cu — as trainer.cpp, in formats and by rules that regimen::cuda_compiled lacks.
//
// Most of it is host code, and bench/compile/registers.cu compiles the kernels for all GPUs; so it is
// compiled for 90a-real
//
// nvcc compiles it wherever there is one; where there is a device, too, it runs. Exit code 77: there is none.
#include "trains.hpp"

using namespace regimen;
using test::agree;

int main() {
  if (!test::is_there()) return 77;
  bool holds = agree<Precision<fp64>>("fp64");
  holds = agree<Precision<fp16, fp32>>("fp16") && holds;
  holds = agree<Precision<fp64>, Accumulate<2>, Checkpoint<Every<1>>>("fp64, accumulated") && holds;
  holds = agree<Precision<fp32>, Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>>("fp32, two schedules") && holds;
  return holds ? 0 : 1;
}
// SPDX-License-Identifier: Apache-2.0
