// regimen/compiled/emulated/fp16.cpp — of regimen::emulated_compiled: the kernels of fp16.
#include <regimen/compiled/emulated/kernels.ipp>

namespace regimen::emulated {
[[gnu::used]] constexpr auto of_fp16 = cuda::kernels::entries<OnHost>(kernels::Fp16{});
}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
