// Random programs: see random/seed.hpp. This file's seeds are 32 to 35.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(32)
