// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 20 to 23.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(20)
// SPDX-License-Identifier: Apache-2.0
