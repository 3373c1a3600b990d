// Random programs on the emulated device: see random/emulated.hpp. This file's seeds are 24 to 27.
#include "random/emulated_fixed.hpp"

REGIMEN_RANDOM_EMULATED(24)
// SPDX-License-Identifier: Apache-2.0
