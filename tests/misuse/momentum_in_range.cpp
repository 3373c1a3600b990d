// Keras' momentum is the share of the old statistics; a percentage is no share.
// expect: Momentum<\.\.\.> is the new batch's share, above 0 and at most 1; write Momentum<Ratio<1, 10>>
// names: regimen::in_order::Ratio<99
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<1, 100>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<99>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
