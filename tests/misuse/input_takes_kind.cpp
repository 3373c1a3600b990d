// An Input with an element type in place of a sample's kind.
// expect: Input<\.\.\.> takes a sample's kind; write Tokens<T>, Vector<N>, Series<\.\.\.>, Image<\.\.\.> or Volume<\.\.\.>
// names: float
#include <regimen/regimen.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<float>, Linear<6>, Relu, Linear<4>> {};
#endif

int main() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
