// A const metric in fit.
// expect: fit and evaluate write the sums of a metric, and this one is const; pass one that is not const
// names: regimen::Accuracy
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net> trainer;
#ifndef REGIMEN_MISUSE
  Accuracy accuracy;
#else
  const Accuracy accuracy;
#endif
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.epochs = 1}, accuracy);
}
