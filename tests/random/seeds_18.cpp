// Random programs: see random/seed.hpp. This file's seeds are 72 to 75.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(72)
