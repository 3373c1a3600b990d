// Measurements in double for a model in float.
// expect: fp64 data would lose digits in this model; convert them to float, or compute in Precision<fp64>
// names: double
// names: float
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp64>>;
#else
using Train = Trainer<Net>;
#endif

auto outputs(Train& trainer, const std::vector<double>& measured) { return trainer.predict(std::span<const double>(measured)); }
