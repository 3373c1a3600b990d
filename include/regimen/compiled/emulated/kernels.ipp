// regimen/compiled/emulated/kernels.ipp — how a source of regimen::emulated_compiled compiles a list of kernels.
#pragma once

#include <regimen/compiled/entries.ipp>
#include <regimen/engine/emulated/compiled.hpp>

namespace regimen::emulated {

template <class Kernel>
void run_compiled(const void* kernel, BlockRunner* runner) {
  run_kernel<Kernel>(kernel, runner);
}

template <class Kernel>
struct OnHost {
  static constexpr auto function = &run_compiled<Kernel>;
};

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
