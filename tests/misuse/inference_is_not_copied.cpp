// A copy of an Inference, for another thread.
// expect: an Inference is not copied; share its weights by model\.share\(\), or std::move it
// names: regimen::Inference<Net>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

int main() {
  Inference<Net> model("net.safetensors");
#ifndef REGIMEN_MISUSE
  Inference<Net> other = model.share();
#else
  Inference<Net> other = model;
#endif
  return static_cast<int>(other.predict(std::vector<float>(4)).size());
}
