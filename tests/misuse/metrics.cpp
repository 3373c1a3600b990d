// Metrics, in fit and in evaluate.
#include <regimen/regimen.hpp>

#include <regimen/watch/metrics.hpp>

#include <cstdio>
#include <memory>
#include <vector>

using namespace regimen;

// ---- metric_adds_batches --------------------------------------------------------------------------------------------
// A metric of classes for a model that is trained on numbers.
// expect: a metric has std::vector<double> sums and add\(const MetricBatch<Output, Label>&\) of this model's types
namespace metric_adds_batches {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
#ifndef REGIMEN_MISUSE
  Trainer<Net> trainer;
#else
  Trainer<Net, Loss<MeanSquaredError>> trainer;
#endif
  Accuracy accuracy;
  trainer.evaluate(Fake{{.samples = 64, .classes = 4}}, accuracy);
}
}  // namespace metric_adds_batches

// ---- metric_adds_batches_fit ----------------------------------------------------------------------------------------
// A metric of classes in fit, for a model that is trained on numbers.
// expect: a metric has std::vector<double> sums and add\(const MetricBatch<Output, Label>&\) of this model's types
namespace metric_adds_batches_fit {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
#ifndef REGIMEN_MISUSE
  Trainer<Net> trainer;
#else
  Trainer<Net, Loss<MeanSquaredError>> trainer;
#endif
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.epochs = 1}, Accuracy{});
}
}  // namespace metric_adds_batches_fit

// ---- metric_is_copied -----------------------------------------------------------------------------------------------
// A metric in fit that can only be moved.
// expect: fit copies a metric for its evaluations, and this one cannot be copied; make it so, or give it to evaluate
// names: CountRows
namespace metric_is_copied {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

struct CountRows {
  std::vector<double> sums = std::vector<double>(1);
  std::unique_ptr<double> most = std::make_unique<double>(0);
  void add(const MetricBatch<float, std::int32_t>& batch) { sums[0] += double(batch.rows); }
};

void program() {
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
}  // namespace metric_is_copied

// ---- metric_is_written ----------------------------------------------------------------------------------------------
// A const metric in fit.
// expect: fit and evaluate write the sums of a metric, and this one is const; pass one that is not const
// names: regimen::Accuracy
namespace metric_is_written {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
  Trainer<Net> trainer;
#ifndef REGIMEN_MISUSE
  Accuracy accuracy;
#else
  const Accuracy accuracy;
#endif
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.epochs = 1}, accuracy);
}
}  // namespace metric_is_written

// ---- metric_is_written_evaluate -------------------------------------------------------------------------------------
// A const metric in evaluate, behind another.
// expect: fit and evaluate write the sums of a metric, and this one is const; pass one that is not const
// names: regimen::Perplexity
namespace metric_is_written_evaluate {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
  Trainer<Net> trainer;
  Accuracy accuracy;
#ifndef REGIMEN_MISUSE
  Perplexity perplexity;
#else
  const Perplexity perplexity;
#endif
  trainer.evaluate(Fake{{.samples = 64, .classes = 4}}, accuracy, perplexity);
}
}  // namespace metric_is_written_evaluate

// ---- metric_keeps_result --------------------------------------------------------------------------------------------
// A metric that is gone when evaluate returns.
// expect: evaluate leaves its result in the metric, and this one is a temporary; pass a variable
// names: regimen::Accuracy
namespace metric_keeps_result {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
#ifndef REGIMEN_MISUSE
  Accuracy accuracy;
  trainer.evaluate(source, accuracy);
#else
  trainer.evaluate(source, Accuracy{});
#endif
}
}  // namespace metric_keeps_result

// ---- measured_needs_metric ------------------------------------------------------------------------------------------
// A callback that waits for what metrics find, and no metric.
// expect: this callback hears Measured, and fit was given no metric; add one, such as Accuracy\{\}
namespace measured_needs_metric {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
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
}  // namespace measured_needs_metric
// SPDX-License-Identifier: Apache-2.0
