// A dropout rate of one.
// expect: Dropout<Ratio<\.\.\.>> drops at least 0 and less than 1; write Dropout<Ratio<1, 10>>
// names: regimen::in_order::Ratio<1
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<1, 10>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<4, 4>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
