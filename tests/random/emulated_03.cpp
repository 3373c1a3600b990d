// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 12 to 15.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(12)
// SPDX-License-Identifier: Apache-2.0
