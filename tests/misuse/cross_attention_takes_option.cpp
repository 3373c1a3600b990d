// Attention to another text whose positions it should not see.
// expect: CrossAttention<Name, Heads<N>, \.\.\.> takes options that are not about positions; write no other option
// names: Causal
#include "../support/model_recipe.hpp"

#include <regimen/layer/cross_attention.hpp>

using namespace regimen;

struct Other : NamedValue<Shape<5, 8>> {};
#ifndef REGIMEN_MISUSE
using Attend = CrossAttention<Other, Heads<2>, WithoutBias>;
#else
using Attend = CrossAttention<Other, Heads<2>, WithoutBias, Causal>;
#endif
struct Small : Model<Input<Series<5, 8>>, Keep<Other>, Attend, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
