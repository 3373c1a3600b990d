// A name that declares another shape than what is kept has.
// expect: Keep<Name> keeps a value of another shape than Name declares; declare the value's
// names: regimen::Keep<Skip>
// names: regimen::Shape<8>
#include "../support/model_recipe.hpp"

#include <regimen/layer/named.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Skip : NamedValue<Shape<8>> {};
#else
struct Skip : NamedValue<Shape<16>> {};
#endif
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Linear<8>, Read<Skip>, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
