// Random programs: see random/seed.hpp. This file's seeds are 8 to 11.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(8)
