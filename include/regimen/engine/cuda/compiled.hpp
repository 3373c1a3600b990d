// regimen/engine/cuda/compiled.hpp — the kernels of regimen::cuda_compiled, for programs that link it: no header of
// CUDA, and no nvcc.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/compiled.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/composed_attention.hpp>
#include <regimen/kernel/embedding.hpp>
#include <regimen/kernel/library.hpp>
#include <regimen/kernel/sum_of_ranks.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <type_traits>

namespace regimen::cuda {

// ---- the list: the operations of fp32, tf32 and bf16 that the CPU's library has, and those of GPUs alone

namespace kernels {

namespace mp = boost::mp11;

template <class T, class... Gradients>
using OfGpu = mp::mp_list<op::DropoutSum<T>, op::NormalizeBackwardSum<false, T, Gradients>...,
                          op::NormalizeBackwardSum<true, T, Gradients>..., kernel::AttentionBiasBackward<T>,
                          kernel::AttentionWeights<T, false>, kernel::AttentionWeights<T, true>,
                          kernel::AttentionWeightsBackward<T, false>, kernel::AttentionWeightsBackward<T, true>>;
using Fp32 = mp::mp_append<cpu::kernels::Fp32, OfGpu<fp32, fp32>, cpu::kernels::Steps,
                           mp::mp_list<op::Cast<fp32, fp16>, op::Zero<fp64>, kernel::LibraryRandom>>;
/// In 16 bits, with numbers in fp32 beside them.
template <class T>
using OfGpuBesideFp32 =
    mp::mp_append<OfGpu<T, fp32, T>, mp::mp_list<op::CrossEntropy<true, fp32, T>, op::SoftCrossEntropy<true, fp32, T>,
                                                 kernel::AddWider<T, fp32>, kernel::PadRows<fp32, T>>>;
using Bf16 = mp::mp_append<cpu::kernels::Bf16, OfGpuBesideFp32<bf16>>;

}  // namespace kernels

/// Whether regimen::cuda_compiled has a kernel: that of an operation in the list.
template <class Kernel>
inline constexpr bool is_compiled = false;
template <class Operation, unsigned pass>
inline constexpr bool is_compiled<kernel::Kernel<Operation, pass>> =
    cpu::kernels::is_in<Operation, kernels::Fp32, kernels::Bf16>;
template <bool counts>
inline constexpr bool is_compiled<kernel::OrderTokens<counts>> = true;  // launched for every EmbedBackward
template <class T>
inline constexpr bool is_compiled<kernel::SumOfRanks<T>> = true;  // launched by ranks that are threads

/// The address of kernel::entry<Kernel>, of the library's kernels.
template <class Kernel>
const void* compiled_entry();

}  // namespace regimen::cuda
// SPDX-License-Identifier: Apache-2.0
