// A metric that is gone when evaluate returns.
// expect: evaluate leaves its result in the metric, and this one is a temporary; pass a variable
// names: regimen::Accuracy
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
#ifndef REGIMEN_MISUSE
  Accuracy accuracy;
  trainer.evaluate(source, accuracy);
#else
  trainer.evaluate(source, Accuracy{});
#endif
}
