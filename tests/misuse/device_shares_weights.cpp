// Inferences on a GPU, emulated here, that share weights.
// expect: Inference::share shares memory of the host; load the file into one Inference for each thread
// names: regimen::Emulated
#include <regimen/engine/emulated/device.hpp>
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Predict = Inference<Net, Device<Emulated>>;

int main() {
  Predict model("net.safetensors");
#ifndef REGIMEN_MISUSE
  Predict other("net.safetensors");
#else
  Predict other = model.share();
#endif
  return static_cast<int>(other.predict(std::vector<float>(4)).size());
}
