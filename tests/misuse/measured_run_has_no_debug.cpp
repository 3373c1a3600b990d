// A benchmark of a Trainer that checks every activation.
// expect: Debug<\.\.\.> slows the run that this program measures; take it out
// names: regimen::Anomaly
#include "../support/recipe.hpp"

#include <regimen/rule/measured_run_has_no_debug.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Debug<Anomaly>>;
#endif

// What a program that reports times asks of its recipe.
static_assert(sizeof(rule::measured_run_has_no_debug<Train::Configuration::debug>::must_hold));

int main() { return sizeof(Train) == 0; }
