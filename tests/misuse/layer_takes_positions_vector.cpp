// An Lstm behind numbers that have no order in time.
// expect: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten
// names: regimen::Lstm<32
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Series<24, 7>>, Lstm<32>, MeanPool, Linear<4>> {};
#else
struct Net : Model<Input<Vector<24 * 7>>, Lstm<32>, MeanPool, Linear<4>> {};
#endif

int main() { return sizeof(Trainer<Net>) == 0; }
