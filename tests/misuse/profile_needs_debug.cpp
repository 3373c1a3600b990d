// The profile of a Trainer that measures nothing.
// expect: profile\(\) reads what Debug<Profile> measures; add Debug<Profile> to the policies
// names: regimen::Debug<regimen::None>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Debug<Profile>>;
#else
using Train = Trainer<Net>;
#endif

std::size_t operations(Train& trainer) { return trainer.profile().operations(); }
