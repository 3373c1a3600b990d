// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 0 to 3.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(0)
// SPDX-License-Identifier: Apache-2.0
