// regimen/compiled/cuda/bf16.cu — of regimen::cuda_compiled: the kernels of bf16.
#include <regimen/compiled/cuda/kernels.cuh>

namespace regimen::cuda::kernels {
[[gnu::used]] constexpr auto of_bf16 = entries<OnGpu>(Bf16{});
[[gnu::used]] constexpr auto sums = entries_of_kernels<OnGpu, kernel::SumOfRanks<bf16>, kernel::SumOfRanks<fp16>>;
}  // namespace regimen::cuda::kernels
// SPDX-License-Identifier: Apache-2.0
