// Random programs: see random/seed.hpp. This file's seeds are 24 to 27.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(24)
