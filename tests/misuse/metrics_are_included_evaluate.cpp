// A metric of one's own in evaluate, of which only the declaration is included.
// expect: a metric needs regimen/watch/metrics.hpp, which is not included here; include it before this
// names: CountRows
// alone: the header of metrics is missing
#include <regimen/regimen.hpp>
#ifndef REGIMEN_MISUSE
#include <regimen/watch/metrics.hpp>
#else
#include <regimen/watch/metric.hpp>
#endif

#include <vector>

using namespace regimen;

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

struct CountRows {
  std::vector<double> sums = std::vector<double>(1);
  void add(const MetricBatch<float, std::int32_t>& batch) { sums[0] += double(batch.rows); }
};

int main() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
  CountRows rows;
  trainer.evaluate(source, rows);
}
