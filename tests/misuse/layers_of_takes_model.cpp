// A layer in place of the network whose layers another takes.
// expect: LayersOf and EncoderOf take a Model<\.\.\.>, or a struct that derives from one; give one
// names: Linear<48>
#include <regimen/models/layers_of.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Ready : Model<Input<Vector<4>>, Linear<48>, Relu, Linear<2>> {};
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<4>>, EncoderOf<Ready>, Linear<5>> {};
#else
struct Net : Model<Input<Vector<4>>, EncoderOf<Linear<48>>, Linear<5>> {};
#endif
static_assert(Trainer<Net, Batch<4>>::plan().parameters > 0);
