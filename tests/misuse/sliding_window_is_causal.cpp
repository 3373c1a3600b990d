// A window of earlier positions, in attention that sees later ones.
// expect: SlidingWindow<N> is the N positions up to a position itself; add Causal
// names: SlidingWindow<4
#include "../support/model_recipe.hpp"

#include <regimen/layer/self_attention.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal, SlidingWindow<4>>;
#else
using Attend = SelfAttention<Heads<2>, SlidingWindow<4>>;
#endif
struct Small : Model<Input<Series<5, 8>>, Attend, Linear<4>> {};

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
