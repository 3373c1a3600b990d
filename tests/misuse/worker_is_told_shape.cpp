// A worker of the data service that takes the shape of its samples from whoever calls.
// expect: a worker is told the shape of its samples; give it Trainer::sample_shape\(\) after the source
// names: Sums
#include <regimen/service/serve.hpp>

using namespace regimen;

struct Sums {
  std::size_t size(const SampleShape&) const { return 100; }
  void read(std::size_t index, Sample<float, float> sample) const {
    sample.input[0] = 1, sample.input[1] = float(index);
    sample.target[0] = 1 + float(index);
  }
};

int main() {
#ifndef REGIMEN_MISUSE
  constexpr SampleShape shape{.input = 2, .target = 1};   // Trainer::sample_shape()
  data::serve<float, float>(Sums{}, shape, {.port = 7000});
#else
  data::serve<float, float>(Sums{}, {.port = 7000});
#endif
}
