// A number among the layers, in a nested list.
// expect: a list of layers holds something that is no layer; take it out \(layers have a name and Bound<X, Roles>\)
// names: int
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Repeat<2, Sequential<Residual<Linear<5>>>>, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Repeat<2, Sequential<Residual<Linear<5>, As<fp32, int>>>>, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
