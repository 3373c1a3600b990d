// regimen/engine/emulated/compiled.hpp — what runs a kernel of the emulated device: a function of the program, or of
// regimen::emulated_compiled.
#pragma once

#include <regimen/engine/cpu/flags.hpp>
#include <regimen/engine/emulated/block.hpp>
#include <regimen/kernel/block.hpp>

#if defined(REGIMEN_EMULATED_COMPILED)
#include <regimen/engine/cuda/compiled.hpp>
#endif

namespace regimen::emulated {

/// Runs the blocks of a kernel.   runner   null: each block is one thread
using RunKernel = void (*)(const void* kernel, BlockRunner* runner);

template <class Kernel>
void run_kernel(const void* kernel, BlockRunner* runner) {
  const Kernel& it = *static_cast<const Kernel*>(kernel);
  if (runner == nullptr) kernel::run_serial(it);
  else runner->run(it);
}
/// The same, in regimen::emulated_compiled.
template <class Kernel>
void run_compiled(const void* kernel, BlockRunner* runner);

#if defined(REGIMEN_EMULATED_COMPILED)
namespace kernels {

using Fp16 = boost::mp11::mp_append<cpu::kernels::Fp16, cuda::kernels::OfGpuBesideFp32<fp16>>;
using Fp64 = boost::mp11::mp_append<cpu::kernels::Fp64, cuda::kernels::OfGpu<fp64, fp64>>;

}  // namespace kernels

/// Whether regimen::emulated_compiled has a kernel: those of regimen::cuda_compiled, and the same in fp16 and fp64.
template <class Kernel>
inline constexpr bool is_compiled = cuda::is_compiled<Kernel>;
template <class Operation, unsigned pass>
inline constexpr bool is_compiled<kernel::Kernel<Operation, pass>> =
    cuda::is_compiled<kernel::Kernel<Operation, pass>> || cpu::kernels::is_in<Operation, kernels::Fp16, kernels::Fp64>;
#else
template <class Kernel>
inline constexpr bool is_compiled = false;
#endif

template <class Kernel>
constexpr RunKernel runner_of() {
  if constexpr (is_compiled<Kernel>) return &run_compiled<Kernel>;
  else return &run_kernel<Kernel>;
}

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
