// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 32 to 35.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(32)
// SPDX-License-Identifier: Apache-2.0
