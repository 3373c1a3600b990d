// A name without a shape.
// expect: the name of a value declares its shape; write struct Name : NamedValue<Shape<\.\.\.>> {}
// names: Skip
#include "../support/model_recipe.hpp"

#include <regimen/layer/named.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Skip : NamedValue<Shape<8>> {};
#else
struct Skip {};
#endif
struct Small : Model<Input<Vector<8>>, Keep<Skip>, Linear<8>, Residual<Read<Skip>>, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
