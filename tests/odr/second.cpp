// The second of three translation units that include every header.
#include <everything.hpp>

#include "../headers/names.hpp"

int second();
int second() { return 0; }
