// regimen/compiled/cuda/bf16.cu — of regimen::cuda_compiled: the kernels of bf16.
#include <regimen/compiled/cuda/kernels.cuh>

namespace regimen::cuda::kernels {
[[gnu::used]] constexpr auto of_bf16 = entries(Bf16{});
}
// SPDX-License-Identifier: Apache-2.0
