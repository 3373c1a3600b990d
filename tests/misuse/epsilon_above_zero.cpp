// An epsilon of zero.
// expect: Epsilon<\.\.\.> takes a Ratio above zero; write Epsilon<Ratio<1, 1'000'000>>
// names: regimen::in_order::Ratio<0
#include "../support/model_recipe.hpp"

#include <regimen/layer/norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, LayerNormWith<Epsilon<Ratio<0>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
