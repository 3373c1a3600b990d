// Random programs: see random/seed.hpp. This file's seeds are 36 to 39.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(36)
