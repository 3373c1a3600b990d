// regimen/engine/cpu/flags.hpp — by which flags of a compiler kernels differ.
#pragma once

#include <regimen/core/compiled.hpp>

namespace regimen::cpu {

/// Whatever a compiler's flags decide about kernels and their bits. Equal for two files if the one may call the other's
/// kernels. The test docs.kernel_flags checks that every macro by which kernels differ is here.
static constexpr char kernel_flags[] =
    ""
#if defined(__FMA__)
    " fma"
#endif
#if defined(__F16C__)
    " f16c"
#endif
#if defined(__AVX2__)
    " avx2"
#endif
#if defined(__AVX512F__)
    " avx512f"
#endif
#if defined(__AVX512BW__)
    " avx512bw"
#endif
#if defined(__AVX512DQ__)
    " avx512dq"
#endif
#if defined(__AVX512VL__)
    " avx512vl"
#endif
#if defined(__AVX512BF16__)
    " avx512bf16"
#endif
#if defined(__AMX_BF16__)
    " amx-bf16"
#endif
#if defined(__ARM_FEATURE_FMA)
    " arm-fma"
#endif
#if defined(__FAST_MATH__)
    " fast-math"
#endif
#if __FINITE_MATH_ONLY__
    " finite-math-only"
#endif
#if REGIMEN_HAS_CBLAS
    " cblas"
#endif
#if REGIMEN_HAS_ONEDNN
    " onednn"
#endif
#if REGIMEN_TRUST_CBLAS
    " trusts-cblas"
#endif
    ;

inline constinit const regimen::detail::FlagsOfFile* kernel_flags_of_files = nullptr;
static const regimen::detail::FlagsOfFile kernel_flags_of_file(kernel_flags_of_files, __BASE_FILE__, library_version,
                                                               kernel_flags);

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
