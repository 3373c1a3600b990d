// regimen/compiled/cuda/kernels.cuh — how a source of regimen::cuda_compiled compiles a list of kernels.
#pragma once

#include <regimen/compiled/entries.ipp>
#include <regimen/kernel/device.cuh>

namespace regimen::cuda {

template <class Kernel>
const void* compiled_entry() {
  return reinterpret_cast<const void*>(kernel::entry<Kernel>);
}

namespace kernels {

template <class Kernel>
struct OnGpu {
  static constexpr auto function = &compiled_entry<Kernel>;
};

}  // namespace kernels

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
