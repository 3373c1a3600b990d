// Two frequencies between which nothing lies.
// expect: Rotary<Theta, \.\.\.> takes Llama3Scaling<Factor, Low, High, Length>; write Ratios above 0, Low < High
// names: regimen::Llama3Scaling<
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<4>, Rotary<Ratio<500'000>, Llama3Scaling<Ratio<8>, Ratio<1>, Ratio<4>>>>;
#else
using Attend = SelfAttention<Heads<4>, Rotary<Ratio<500'000>, Llama3Scaling<Ratio<8>, Ratio<4>, Ratio<1>>>>;
#endif

struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Attend, Linear<16>> {};
using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
