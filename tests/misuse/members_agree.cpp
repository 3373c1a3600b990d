// An ensemble of a model with ten classes, and one with eleven.
// expect: an ensemble averages Inferences of one input shape and one output shape; end every model alike
// names: Eleven
#include <regimen/regimen.hpp>
#include <regimen/tune/ensemble.hpp>

using namespace regimen;

struct Ten : Model<Input<Vector<8>>, Linear<10>> {};
struct Eleven : Model<Input<Vector<8>>, Linear<11>> {};

int main() {
#ifndef REGIMEN_MISUSE
  Ensemble<Inference<Ten>, Inference<Ten, Batch<4>>> both({"first.safetensors", "second.safetensors"});
#else
  Ensemble<Inference<Ten>, Inference<Eleven>> both({"first.safetensors", "second.safetensors"});
#endif
  both.probabilities(std::vector<float>(8));
  both.evaluate(Fake{{.samples = 64, .classes = 10}});
}
