// A predicate that is true of nothing that the model has.
// expect: Checkpoint<If<P>>: P<Layer>::value is true of no layer of this model; choose one
// names: is_norm
#include "../support/model_recipe.hpp"

using namespace regimen;

template <class Layer>
struct is_norm : std::is_same<Layer, LayerNorm> {};
template <class Layer>
struct is_gelu : std::is_same<Layer, Gelu> {};
struct Small : Model<Input<Vector<8>>, Linear<8>, Gelu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Checkpoint<If<is_gelu>>>;
#else
using Train = Trainer<Small, Checkpoint<If<is_norm>>>;
#endif

int main() { return sizeof(Train) == 0; }
