// regimen/compiled/emulated/fp64.cpp — of regimen::emulated_compiled: the kernels of fp64.
#include <regimen/compiled/emulated/kernels.ipp>

namespace regimen::emulated {
[[gnu::used]] constexpr auto of_fp64 = cuda::kernels::entries<OnHost>(kernels::Fp64{});
}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
