// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 16 to 19.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(16)
// SPDX-License-Identifier: Apache-2.0
