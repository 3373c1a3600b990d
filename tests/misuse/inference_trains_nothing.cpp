// A program that only predicts, with an optimizer.
// expect: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution
// names: regimen::Optimizer<regimen::AdamW
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Predict = Inference<Net, Batch<8>, Precision<bf16>>;
#else
using Predict = Inference<Net, Batch<8>, Optimizer<AdamW>, Precision<bf16>>;
#endif

int main() {
  Predict model("net.safetensors");
  return static_cast<int>(model.predict(std::vector<float>(8)).size());
}
