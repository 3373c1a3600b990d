// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 8 to 11.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(8)
// SPDX-License-Identifier: Apache-2.0
