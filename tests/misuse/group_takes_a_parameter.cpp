// A group for a layer that the model lacks.
// expect: a group of Split<\.\.\.> gets no parameter that trains; name others, or leave it out
// names: Linear<77
#include "../support/model_recipe.hpp"
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Split<OfLayer<Linear<4>, Sgd>, Rest<AdamW>>>>;
#else
using Train = Trainer<Net, Optimizer<Split<OfLayer<Linear<77>, Sgd>, Rest<AdamW>>>>;
#endif

int main() { return sizeof(Train) == 0; }
