// Random programs: see random/seed.hpp. This file's seeds are 28 to 31.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(28)
