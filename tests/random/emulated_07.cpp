// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 28 to 31.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(28)
// SPDX-License-Identifier: Apache-2.0
