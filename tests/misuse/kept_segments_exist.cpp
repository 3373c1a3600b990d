// Every block is a segment of its own, so there are no segments to keep gathered.
// expect: KeepSegments keeps the units of a segment that is computed again; write Every<N>, N >= 2, and let the block of a Repeat be a unit
// names: regimen::KeepSegments
// names: regimen::Checkpoint<regimen::Every<1>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Deep : Model<Input<Vector<8>>, Repeat<4, Linear<8>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Communicator<Threads>, Shard<ZeRO3, KeepSegments>, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Deep, Communicator<Threads>, Shard<ZeRO3, KeepSegments>, Checkpoint<Every<1>>>;
#endif

int main() { return sizeof(Train) == 0; }
