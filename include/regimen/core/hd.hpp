// regimen/core/hd.hpp — the one macro that lets a function run on the host and on a device.
#pragma once

/// Marks small arithmetic functions that CPU loops and GPU kernels share.
#if defined(__CUDACC__)
#define REGIMEN_HD __host__ __device__
#else
#define REGIMEN_HD
#endif

/// Before a template marked so which CPU loops call with a register: what it calls then is the host's alone. nvcc does not ask whether a device
/// has it; where REGIMEN_HD_CHECKED is defined, as in tests/device, it does.
#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#define REGIMEN_HD_UNCHECKED _Pragma("nv_exec_check_disable")
#else
#define REGIMEN_HD_UNCHECKED
#endif
// SPDX-License-Identifier: Apache-2.0
