// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 4 to 7.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(4)
// SPDX-License-Identifier: Apache-2.0
