// A function that writes samples of doubles, for a model in float.
// expect: samples\(write\) calls write\(value, sample\), const; let it take the model's Sample<Input, Label>
// names: Sample<float, float>
#include <regimen/data/samples.hpp>

using namespace regimen;

struct Numbers {
  std::size_t size() const { return 100; }
  int at(const data::Key& key) const { return int(key.index); }
  std::string name() const { return "numbers"; }
};

int main() {
#ifndef REGIMEN_MISUSE
  const auto write = [](int number, Sample<float, float> sample) {
#else
  const auto write = [](int number, Sample<double, double> sample) {
#endif
    data::put(sample.input, number);
    data::put(sample.target, number * 2);
  };
  const auto source = Numbers{} | data::samples(write);
  float input[1], target[1];
  source.read(data::Key{}, Sample<float, float>{input, target});
}
