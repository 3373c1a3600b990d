// Attention to a text that nothing keeps.
// expect: a layer reads a value by a name that is kept nowhere before; put Keep<Name> before it
// names: Other
#include "../support/model_recipe.hpp"

#include <regimen/layer/cross_attention.hpp>

using namespace regimen;

struct Other : NamedValue<Shape<5, 8>> {};
using Attend = Residual<CrossAttention<Other, Heads<2>>>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Series<5, 8>>, Keep<Other>, Attend, Linear<4>> {};
#else
struct Small : Model<Input<Series<5, 8>>, Attend, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
