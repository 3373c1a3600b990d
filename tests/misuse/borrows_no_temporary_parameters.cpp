// Views of the weights of an Inference that ends with the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::Inference<Net>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

int main() {
#ifndef REGIMEN_MISUSE
  Inference<Net> model("net.safetensors");
  for (const HeldParameter& parameter : model.parameters()) std::puts(parameter.name.c_str());
#else
  for (const HeldParameter& parameter : Inference<Net>("net.safetensors").parameters()) std::puts(parameter.name.c_str());
#endif
}
