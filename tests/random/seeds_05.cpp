// Random programs: see random/seed.hpp. This file's seeds are 20 to 23.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(20)
