// Random programs: see random/seed.hpp. This file's seeds are 0 to 3.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(0)
