// A data source that writes doubles, for a model in float.
// expect: this source writes other samples; give it size\(SampleShape\) const and read\(index, Sample<In, Label>\) const
// names: Sums
#include <regimen/regimen.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<2>>, Linear<1>> {};

struct Sums {
  std::size_t size(const SampleShape&) const { return 100; }
#ifndef REGIMEN_MISUSE
  void read(std::size_t index, Sample<float, float> sample) const {
#else
  void read(std::size_t index, Sample<double, double> sample) const {
#endif
    sample.input[0] = 1, sample.input[1] = 2 * index;
    sample.target[0] = 1 + 2 * index;
  }
};

int main() {
  Trainer<Net, Loss<MeanSquaredError>> trainer;
  trainer.fit(Sums{}, {.steps = 100});
}
