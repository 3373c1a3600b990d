// A bucket for gradients that are reduced after every micro-batch, unit by unit.
// expect: Bucket<Bytes> joins gradients that every rank keeps whole until the last micro-batch; write ReduceOnce, or no Bucket
// names: regimen::Bucket<26214400
// names: regimen::Accumulate<4, regimen::ReduceEach>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<Replicated, Bucket<25_MiB>>, Accumulate<4, ReduceOnce>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<Replicated, Bucket<25_MiB>>, Accumulate<4, ReduceEach>>;
#endif

int main() { return sizeof(Train) == 0; }
