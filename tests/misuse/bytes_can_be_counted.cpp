// A layer wider than any memory.
// expect: this model and batch need more bytes than can be counted; write smaller extents, a smaller Repeat or Batch
// names: Wide
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Wide : Model<Input<Vector<4>>, Linear<(std::size_t{1} << 6)>, Linear<3>> {};
#else
struct Wide : Model<Input<Vector<4>>, Linear<(std::size_t{1} << 62)>, Linear<3>> {};
#endif

using Train = Trainer<Wide>;

int main() { return sizeof(Train) == 0; }
