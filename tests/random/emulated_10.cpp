// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 40 to 43.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(40)
// SPDX-License-Identifier: Apache-2.0
