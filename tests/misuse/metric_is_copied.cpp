// A metric in fit that can only be moved.
// expect: fit copies a metric for its evaluations, and this one cannot be copied; make it so, or give it to evaluate
// names: CountRows
#include <regimen/regimen.hpp>
#include <regimen/watch/metrics.hpp>

#include <memory>
#include <vector>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

struct CountRows {
  std::vector<double> sums = std::vector<double>(1);
  std::unique_ptr<double> most = std::make_unique<double>(0);
  void add(const MetricBatch<float, std::int32_t>& batch) { sums[0] += double(batch.rows); }
};

int main() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
  CountRows rows;
#ifndef REGIMEN_MISUSE
  trainer.fit(source, {.epochs = 1});
  trainer.evaluate(source, rows);
#else
  trainer.fit(source, {.epochs = 1}, std::move(rows));
#endif
}
