// A function that predicts with an Inference that it may not change.
// expect: a const Inference neither predicts nor loads; leave out const, or call its share\(\) for one
// names: regimen::Inference<Net>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
float first(Inference<Net>& model, const std::vector<float>& inputs) { return model.predict(inputs)[0]; }
#else
float first(const Inference<Net>& model, const std::vector<float>& inputs) { return model.predict(inputs)[0]; }
#endif

int main() {
  Inference<Net> model("net.safetensors");
  return first(model, std::vector<float>(4)) > 0;
}
