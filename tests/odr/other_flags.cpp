// A file of a program whose flags are not the library's.
#include <regimen/engine/cpu/engine.hpp>

static_assert(REGIMEN_COMPILED);
// SPDX-License-Identifier: Apache-2.0
