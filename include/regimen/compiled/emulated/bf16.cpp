// regimen/compiled/emulated/bf16.cpp — of regimen::emulated_compiled: the kernels of bf16.
#include <regimen/compiled/emulated/kernels.ipp>

namespace regimen::emulated {
[[gnu::used]] constexpr auto of_bf16 = cuda::kernels::entries<OnHost>(cuda::kernels::Bf16{});
[[gnu::used]] constexpr auto sums_of_bf16 =
    cuda::kernels::entries_of_kernels<OnHost, kernel::SumOfRanks<bf16>, kernel::SumOfRanks<fp16>>;
}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
