// regimen/core/compiled.hpp — what the CMake target regimen::kernels compiles once for all files of a program.
#pragma once

/// Before a function that is no template: inline, unless regimen::kernels has its code.
#if REGIMEN_HAS_KERNELS
#define REGIMEN_COMPILED
#else
#define REGIMEN_COMPILED inline
#endif
// SPDX-License-Identifier: Apache-2.0
