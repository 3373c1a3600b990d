// regimen/engine/cpu/compiled.hpp — the kernels that regimen::compiled compiles once, for programs that link it.
//
// A program that links the CMake target regimen::compiled is compiled with REGIMEN_COMPILED=1. Then the kernels below
// are not compiled again in each of its files. Other element types, update rules and operations of the program's own
// are still compiled where they are used. The bits are those of the same kernels without the target.
#pragma once

#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/reduce.hpp>
#include <regimen/engine/cpu/rotary.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/step.hpp>

#include <cstdint>

namespace regimen::cpu {

/// Whatever a compiler's flags decide about kernels and their bits. Equal for two files if the one may call the other's
/// kernels. The test docs.kernel_flags checks that every macro by which kernels differ is here.
inline constexpr std::uint64_t kernel_flags = lanes<float>
#if defined(__FMA__)
                                              | 1u << 8
#endif
#if defined(__AVX2__)
                                              | 1u << 9
#endif
#if defined(__AVX512F__)
                                              | 1u << 10
#endif
#if defined(__AVX512BF16__)
                                              | 1u << 11
#endif
#if defined(__AMX_BF16__)
                                              | 1u << 12
#endif
#if defined(__FAST_MATH__)
                                              | 1u << 13
#endif
#if REGIMEN_HAS_CBLAS
                                              | 1u << 14
#endif
#if REGIMEN_HAS_ONEDNN
                                              | 1u << 15
#endif
#if defined(__F16C__)
                                              | 1u << 16
#endif
#if defined(__AVX512BW__)
                                              | 1u << 17
#endif
#if defined(__AVX512DQ__)
                                              | 1u << 18
#endif
#if defined(__AVX512VL__)
                                              | 1u << 19
#endif
#if __FINITE_MATH_ONLY__
                                              | 1u << 20
#endif
#if defined(__ARM_FEATURE_FMA)
                                              | 1u << 21
#endif
    ;

/// Throws Error unless the kernels were compiled with these flags. Defined in compiled.cpp.
void check_kernels(std::uint64_t flags);

// ---- REGIMEN_KERNEL is `extern template` for those who call, and `template` in compiled.cpp

#if !defined(REGIMEN_KERNEL)
#define REGIMEN_KERNEL extern template
#endif

// G: of gradients and their sums. Update rules are compiled where they are used: a program has its own.
#define REGIMEN_KERNELS_OF(T, G)                                                                     \
  REGIMEN_KERNEL void compute(const op::BiasActivation<activation::Identity, T, T>&, const Memory&); \
  REGIMEN_KERNEL void compute(const op::BiasActivation<activation::Relu, T, T>&, const Memory&);     \
  REGIMEN_KERNEL void compute(const op::BiasActivation<activation::GeluErf, T, T>&, const Memory&);  \
  REGIMEN_KERNEL void compute(const op::BiasActivation<activation::GeluTanh, T, T>&, const Memory&); \
  REGIMEN_KERNEL void compute(const op::BiasActivation<activation::Silu, T, T>&, const Memory&);     \
  REGIMEN_KERNEL void compute(const op::BiasBackward<activation::Identity, T, G>&, const Memory&);   \
  REGIMEN_KERNEL void compute(const op::BiasBackward<activation::Relu, T, G>&, const Memory&);       \
  REGIMEN_KERNEL void compute(const op::BiasBackward<activation::GeluErf, T, G>&, const Memory&);    \
  REGIMEN_KERNEL void compute(const op::BiasBackward<activation::GeluTanh, T, G>&, const Memory&);   \
  REGIMEN_KERNEL void compute(const op::BiasBackward<activation::Silu, T, G>&, const Memory&);       \
  REGIMEN_KERNEL void compute(const op::Add<T>&, const Memory&);                                     \
  REGIMEN_KERNEL void compute(const op::Multiply<T>&, const Memory&);                                \
  REGIMEN_KERNEL void compute(const op::CopyColumns<T>&, const Memory&);                             \
  REGIMEN_KERNEL void compute(const op::Cast<T, T>&, const Memory&);                                 \
  REGIMEN_KERNEL void compute(const op::Dropout<T>&, const Memory&);                                 \
  REGIMEN_KERNEL void compute(const op::Normalize<true, T>&, const Memory&);                         \
  REGIMEN_KERNEL void compute(const op::Normalize<false, T>&, const Memory&);                        \
  REGIMEN_KERNEL void compute(const op::NormalizeBackward<true, T, G>&, const Memory&);              \
  REGIMEN_KERNEL void compute(const op::NormalizeBackward<false, T, G>&, const Memory&);             \
  REGIMEN_KERNEL void compute(const op::Attention<T>&, const Memory&);                               \
  REGIMEN_KERNEL void compute(const op::AttentionBackward<T>&, const Memory&);                       \
  REGIMEN_KERNEL void compute(const op::KeepKeys<T>&, const Memory&);                                \
  REGIMEN_KERNEL void compute(const op::AttendKept<T>&, const Memory&);                              \
  REGIMEN_KERNEL void compute(const op::Rotate<T>&, const Memory&);                                  \
  REGIMEN_KERNEL void compute(const op::Embed<T>&, const Memory&);                                   \
  REGIMEN_KERNEL void compute(const op::EmbedBackward<T, G>&, const Memory&);                        \
  REGIMEN_KERNEL void compute(const op::AddTable<T>&, const Memory&);                                \
  REGIMEN_KERNEL void compute(const op::AddTableBackward<T, G>&, const Memory&);                     \
  REGIMEN_KERNEL void compute(const op::Product<T, T, T>&, const Memory&)

REGIMEN_KERNELS_OF(float, float);
REGIMEN_KERNELS_OF(bf16, float);
REGIMEN_KERNELS_OF(fp16, float);

// Of fp32 alone: what final outputs, losses and norms are computed in.
REGIMEN_KERNEL void compute(const op::CrossEntropy<true, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::CrossEntropy<false, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::SquaredError<true, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::SquaredError<false, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::CountCorrect<float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::SumOfSquares<float>&, const Memory&);
// 16-bit types beside fp32: weight gradients, the last product, its bias, and their casts.
REGIMEN_KERNEL void compute(const op::Product<bf16, bf16, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Product<float, bf16, bf16>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Product<float, bf16, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Product<fp16, fp16, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Product<float, fp16, fp16>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Product<float, fp16, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::BiasActivation<activation::Identity, float, bf16>&, const Memory&);
REGIMEN_KERNEL void compute(const op::BiasActivation<activation::Identity, float, fp16>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Cast<float, bf16>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Cast<bf16, float>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Cast<float, fp16>&, const Memory&);
REGIMEN_KERNEL void compute(const op::Cast<fp16, float>&, const Memory&);

#undef REGIMEN_KERNELS_OF
#undef REGIMEN_KERNEL

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
