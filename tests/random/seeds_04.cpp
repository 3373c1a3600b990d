// Random programs: see random/seed.hpp. This file's seeds are 16 to 19.
#include "random/fixed.hpp"

REGIMEN_RANDOM_SEEDS(16)
