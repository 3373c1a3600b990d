// regimen/core/hd.hpp — the one macro that lets a function run on the host and on a device.
#pragma once

/// Marks small arithmetic functions that CPU loops and GPU kernels share.
#if defined(__CUDACC__)
#define REGIMEN_HD __host__ __device__
#else
#define REGIMEN_HD
#endif
// SPDX-License-Identifier: Apache-2.0
