// A metric of classes in fit, for a model that is trained on numbers.
// expect: a metric has std::vector<double> sums and add\(const MetricBatch<Output, Label>&\) of this model's types
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
#ifndef REGIMEN_MISUSE
  Trainer<Net> trainer;
#else
  Trainer<Net, Loss<MeanSquaredError>> trainer;
#endif
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.epochs = 1}, Accuracy{});
}
