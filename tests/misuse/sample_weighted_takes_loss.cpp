// Weights for a loss that compares samples with each other.
// expect: SampleWeighted<\.\.\.> takes a loss of single targets, such as CrossEntropy; write one, or leave it out
// names: regimen::NtXent
#include "../support/recipe.hpp"

#include <regimen/loss/nt_xent.hpp>
#include <regimen/loss/sample_weighted.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<SampleWeighted<CrossEntropy>>>;
#else
using Train = Trainer<Net, Loss<SampleWeighted<NtXent<>>>>;
#endif

int main() { return sizeof(Train) == 0; }
