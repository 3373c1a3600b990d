// A recipe that computes in fp16 without a loss scale: gradients below 2^-24 would become zero.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
// names: regimen::LossScale<
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>>;
#endif

int main() { return sizeof(Train) == 0; }
