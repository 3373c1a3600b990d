// A dataset whose pipeline lacks its last stage.
// expect: a dataset has values, and fit reads samples of this model; end it with \| data::samples\(write\)
// names: Squares
#include <regimen/regimen.hpp>

#include <regimen/data/samples.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<1>>, Linear<8>, Relu, Linear<1>> {};

struct Squares {
  std::size_t size() const { return 100; }
  float at(const data::Key& key) const { return float(key.index); }
  std::string name() const { return "squares"; }
};

int main() {
  Trainer<Net, Loss<MeanSquaredError>> trainer;
#ifndef REGIMEN_MISUSE
  const auto write = [](float x, Sample<float, float> sample) { sample.input[0] = x, sample.target[0] = x * x; };
  trainer.fit(Squares() | data::samples(write), {.epochs = 10});
#else
  trainer.fit(Squares(), {.epochs = 10});
#endif
}
