// A branch whose output is wider than its input.
// expect: Residual<\.\.\.> adds its input to its output; end it with the shape that it begins with
// names: regimen::Shape<8>
// names: regimen::Shape<16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Residual<Linear<16>, Relu, Linear<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Residual<Linear<16>, Relu>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
