// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 36 to 39.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(36)
// SPDX-License-Identifier: Apache-2.0
