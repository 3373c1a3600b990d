// Several ranks without a communicator object.
// expect: a recipe with Communicator<\.\.\.> needs a communicator object; write Train trainer\(communicator\)
// names: regimen::Communicator<regimen::Threads>
#include <regimen/regimen.hpp>
#include <regimen/comm/launch.hpp>

using namespace regimen;

struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp, Communicator<Threads>>;

#ifndef REGIMEN_MISUSE
int main() {
  launch(2, [](comm::Threads& communicator) { Train trainer(communicator); });
}
#else
int main() {
  launch(2, [](comm::Threads&) { Train trainer; });
}
#endif
