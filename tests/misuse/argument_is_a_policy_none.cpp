// None without the policy that it switches off.
// expect: None is an option, not a policy; write Checkpoint<None>, Clip<None>, or leave it out
// names: regimen::None
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<None>>;
#else
using Train = Trainer<Net, None>;
#endif

int main() { return sizeof(Train) == 0; }
