// A const metric in evaluate, behind another.
// expect: fit and evaluate write the sums of a metric, and this one is const; pass one that is not const
// names: regimen::Perplexity
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net> trainer;
  Accuracy accuracy;
#ifndef REGIMEN_MISUSE
  Perplexity perplexity;
#else
  const Perplexity perplexity;
#endif
  trainer.evaluate(Fake{{.samples = 64, .classes = 4}}, accuracy, perplexity);
}
