// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 44 to 47.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(44)
// SPDX-License-Identifier: Apache-2.0
