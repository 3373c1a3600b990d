// Random programs: see random/seed.hpp. This file's seeds are 40 to 43.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(40)
