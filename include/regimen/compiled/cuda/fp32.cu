// regimen/compiled/cuda/fp32.cu — of regimen::cuda_compiled: the kernels of fp32.
#include <regimen/compiled/cuda/kernels.cuh>

namespace regimen::cuda::kernels {
[[gnu::used]] constexpr auto of_fp32 = entries<OnGpu>(Fp32{});
[[gnu::used]] constexpr auto sums = entries_of_kernels<OnGpu, kernel::SumOfRanks<fp64>, kernel::SumOfRanks<fp32>>;
}  // namespace regimen::cuda::kernels
// SPDX-License-Identifier: Apache-2.0
