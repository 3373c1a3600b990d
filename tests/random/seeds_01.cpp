// Random programs: see random/seed.hpp. This file's seeds are 4 to 7.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(4)
