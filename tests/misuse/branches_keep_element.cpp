// Tokens beside numbers.
// expect: a branch of this Fork ends with tokens and another with numbers; put Embedding<\.\.\.> at its end
// names: regimen::Fork<regimen::Concat, regimen::Part<0>, regimen::Part<1> >
#include "../support/model_recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Bundle<Tokens<8>, Vector<4>>>,
                     Fork<Concat, Sequential<Part<0>, Embedding<Vocabulary<9>, 4>, MeanPool>, Part<1>>, Linear<16>> {};
#else
struct Small : Model<Input<Bundle<Tokens<8>, Vector<4>>>, Fork<Concat, Part<0>, Part<1>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
