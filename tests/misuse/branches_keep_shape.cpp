// Branches of two widths, which are added.
// expect: a Fork that adds or multiplies joins outputs of one shape; end all branches with the same
// names: regimen::Shape<16>
// names: regimen::Shape<8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<16>, Sequential<Linear<8>, Relu, Linear<16>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<16>, Sequential<Linear<8>, Relu>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
