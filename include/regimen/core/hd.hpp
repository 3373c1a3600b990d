// regimen/core/hd.hpp — the one macro that lets a function run on the host and on a device.
#pragma once

/// Marks small arithmetic functions that CPU loops and GPU kernels share.
#if defined(__CUDACC__)
#define REGIMEN_HD __host__ __device__
#else
#define REGIMEN_HD
#endif

/// For REGIMEN_HD templates that CPU loops call with SIMD registers, whose functions run on the host only. nvcc then
/// does not check for calls of host functions, unless REGIMEN_HD_CHECKED is defined, as in tests/device.
#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#define REGIMEN_HD_UNCHECKED _Pragma("nv_exec_check_disable")
#else
#define REGIMEN_HD_UNCHECKED
#endif
// SPDX-License-Identifier: Apache-2.0
