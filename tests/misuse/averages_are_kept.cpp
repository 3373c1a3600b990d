// The averages of a Trainer that keeps none.
// expect: this Trainer keeps no averages of weights; write Optimizer<Averaged<AdamW>>
// names: regimen::AdamW
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Averaged<AdamW>>>;
#else
using Train = Trainer<Net>;
#endif

void write(Train& trainer) { trainer.save_average("average"); }
