// A budget below the memory of the schedule that needs least. The error shows both numbers of bytes.
// expect: no recomputation fits into Budget<Bytes>; allow the second number of bytes that stands here
// names: 603392
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Deep : Model<Input<Vector<64>>, Repeat<8, Residual<Linear<64>, Relu>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Deep, Checkpoint<Budget<1_MiB>>, Batch<32>>;
#else
using Train = Trainer<Deep, Checkpoint<Budget<500'000>>, Batch<32>>;
#endif

int main() { return sizeof(Train) == 0; }
