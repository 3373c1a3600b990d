// A communicator where a policy belongs.
// expect: Solo and the others are communicators, not policies; write Communicator<Solo>
// names: regimen::Solo
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Solo>>;
#else
using Train = Trainer<Net, Solo>;
#endif

int main() { return sizeof(Train) == 0; }
