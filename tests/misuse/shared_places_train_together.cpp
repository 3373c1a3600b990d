// One set of weights, frozen in one of its two places.
// expect: all Shared of one name train together; write Frozen<\.\.\.> around all of them, none, or inside
// names: Tower
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Tower;
using Encode = Shared<Tower, Linear<8>, Gelu>;
#ifndef REGIMEN_MISUSE
struct Twice : Model<Input<Vector<8>>, Frozen<Encode>, Frozen<Encode>, Linear<4>> {};
#else
struct Twice : Model<Input<Vector<8>>, Frozen<Encode>, Encode, Linear<4>> {};
#endif

using Train = Trainer<Twice>;

int main() { return sizeof(Train) == 0; }
