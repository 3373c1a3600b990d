// A callback that waits for what metrics find, and no metric.
// expect: this callback hears Measured, and fit was given no metric; add one, such as Accuracy\{\}
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

#include <cstdio>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

int main() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
  const auto print = [](auto&, const Measured& found) {
    std::printf("%f\n", found.value("accuracy"));
  };
#ifndef REGIMEN_MISUSE
  trainer.fit(source, {.epochs = 1}, Accuracy{}, print);
#else
  trainer.fit(source, {.epochs = 1}, print);
#endif
}
