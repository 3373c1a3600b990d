// Images with other channels, one above the other.
// expect: Concat joins outputs that have this axis and differ along it alone; make the other extents equal
// names: regimen::Shape<6, 6, 3>
// names: regimen::Shape<6, 6, 8>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Fork<Concat, Identity, Linear<8>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Fork<ConcatAlong<0>, Identity, Linear<8>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
