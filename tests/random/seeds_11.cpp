// Random programs: see random/seed.hpp. This file's seeds are 44 to 47.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(44)
