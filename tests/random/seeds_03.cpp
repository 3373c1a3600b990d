// Random programs: see random/seed.hpp. This file's seeds are 12 to 15.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(12)
