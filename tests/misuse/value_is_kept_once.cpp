// A value of each block under one name.
// expect: a name stands for one value; write Keep<Name> once, and in no Repeat
// names: Skip
#include "../support/model_recipe.hpp"

#include <regimen/layer/named.hpp>

using namespace regimen;

struct Skip : NamedValue<Shape<8>> {};
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Repeat<3, Sequential<Linear<8>, Residual<Read<Skip>>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<Keep<Skip>, Linear<8>, Residual<Read<Skip>>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
