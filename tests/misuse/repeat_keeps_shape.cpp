// A block whose output has another shape than its input.
// expect: Repeat<N, Block> feeds each block to the next; end Block with the shape that it begins with
// names: regimen::Shape<8>
// names: regimen::Shape<16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<Linear<8>, Relu>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<Linear<16>, Relu>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
