// A value that is read before it is there.
// expect: a layer reads a value by a name that is kept nowhere before; put Keep<Name> before it
// names: Skip
#include "../support/model_recipe.hpp"

#include <regimen/layer/named.hpp>

using namespace regimen;

struct Skip : NamedValue<Shape<8>> {};
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Linear<8>, Residual<Read<Skip>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Residual<Read<Skip>>, Linear<8>, Keep<Skip>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
