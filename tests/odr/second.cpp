// The second of two translation units that include every header.
#include <everything.hpp>

int second();
int second() { return 0; }
