// regimen/compiled/emulated/fp32.cpp — of regimen::emulated_compiled: the kernels of fp32.
#include <regimen/compiled/emulated/kernels.ipp>

namespace regimen::emulated {
[[gnu::used]] constexpr auto of_fp32 = cuda::kernels::entries<OnHost>(cuda::kernels::Fp32{});
[[gnu::used]] constexpr auto sums_of_fp32 =
    cuda::kernels::entries_of_kernels<OnHost, kernel::SumOfRanks<fp64>, kernel::SumOfRanks<fp32>>;
}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
