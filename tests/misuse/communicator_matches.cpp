// Ranks that are threads, in a recipe for processes.
// expect: this communicator is not the one that the recipe names; write its Communicator<\.\.\.>, or hand over another
// names: regimen::comm::Threads
// names: regimen::Communicator<regimen::Tcp>
#include <regimen/regimen.hpp>
#include <regimen/comm/launch.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp, Communicator<Threads>>;
#else
using Train = Trainer<Mlp, Communicator<Tcp>>;
#endif

int main() {
  launch(2, [](comm::Threads& communicator) { Train trainer(communicator); });
}
