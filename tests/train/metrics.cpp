// Metrics of an evaluation: counted here from predictions and labels, and by the evaluation, on any ranks.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/watch/metrics.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

using namespace regimen;

namespace {

/// Sequences of which every third token has no target.
struct Gaps {
  Fake fake{{.samples = 43, .classes = 11, .seed = 3}};
  std::size_t size(const SampleShape& shape) const { return fake.size(shape); }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    fake.read(index, sample);
    for (std::size_t i = index % 3; i < sample.target.size(); i += 3) sample.target[i] = ignore_index;
  }
};

struct All {
  Accuracy accuracy{};
  TopK<3> top{};
  Perplexity perplexity{};
  ConfusionMatrix confusion{};
  PrecisionRecall classes{};
  Evaluation found{};

  void evaluate(auto& trainer, const auto& source) {
    found = trainer.evaluate(source, accuracy, top, perplexity, confusion, classes);
  }
};

struct Network : Model<Input<Tokens<8>>, Embedding<Vocabulary<11>, 16>, LayerNorm, Linear<11>> {};

}  // namespace

TEST_CASE("metrics count what a program counts from predictions and labels") {
  using Train = Trainer<Network, Batch<4>>;
  Train trainer({.threads = 1});
  const Gaps source;
  trainer.fit(source, {.steps = 20, .progress = false});
  const Evaluation plain = trainer.evaluate(source);
  const double before = trainer.evaluate(source).loss;
  All all;
  all.evaluate(trainer, source);
  all.evaluate(trainer, source);  // begins anew
  CHECK(all.found.loss == plain.loss);
  CHECK(all.found.accuracy == plain.accuracy);
  CHECK(all.found.targets == plain.targets);
  CHECK(trainer.evaluate(source).loss == before);
  CHECK(trainer.used().peak == Train::plan().peak);

  // The witness: sorts the classes of each row.
  std::vector<std::int32_t> inputs(43 * Train::input_size), targets(43 * Train::target_size);
  for (std::size_t s = 0; s < 43; ++s)
    source.read(s, {std::span(inputs).subspan(s * Train::input_size, Train::input_size),
                    std::span(targets).subspan(s * Train::target_size, Train::target_size)});
  const std::vector<float> outputs = trainer.predict(inputs);
  constexpr std::size_t classes = Train::output_size / Train::target_size;
  std::vector<double> matrix(classes * classes);
  double right = 0, among = 0, valid = 0, logs = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == ignore_index) continue;
    const float* const x = outputs.data() + row * classes;
    std::vector<std::size_t> order(classes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
    const auto target = static_cast<std::size_t>(targets[row]);
    right += order[0] == target;
    among += order[0] == target || order[1] == target || order[2] == target;
    valid += 1;
    matrix[target * classes + order[0]] += 1;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(double(x[c]) - double(x[target]));
    logs += std::log(sum);
  }
  CHECK(valid == double(plain.targets));
  CHECK(valid < double(targets.size()));
  CHECK(right > 0);
  CHECK(among > right);
  CHECK(all.accuracy.value() == right / valid);
  CHECK(all.top.value() == among / valid);
  CHECK(all.confusion.sums == matrix);
  CHECK(all.perplexity.value() == Approx(std::exp(logs / valid)).epsilon(1e-12));
  CHECK(all.perplexity.value() == Approx(std::exp(plain.loss)).epsilon(1e-5));  // the loss is summed from fp32
  double precisions = 0, recalls = 0, taken_for = 0, of = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double taken = 0, own = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      taken += matrix[other * classes + c];
      own += matrix[c * classes + other];
    }
    const double hits = matrix[c * classes + c];
    if (taken > 0) CHECK(all.classes.precision(c) == hits / taken);
    else CHECK(std::isnan(all.classes.precision(c)));
    if (own > 0) CHECK(all.classes.recall(c) == hits / own);
    if (taken + own > 0) CHECK(all.classes.f1(c) == Approx(2 * hits / (taken + own)).epsilon(1e-15));
    precisions += taken > 0 ? hits / taken : 0;
    recalls += own > 0 ? hits / own : 0;
    taken_for += taken > 0;
    of += own > 0;
  }
  CHECK(all.classes.mean_precision() == Approx(precisions / taken_for).epsilon(1e-15));
  CHECK(all.classes.mean_recall() == Approx(recalls / of).epsilon(1e-15));
}

TEST_CASE("metrics of ranks are those of one rank, also where a rank has no samples in a batch") {
  const Gaps source;
  Trainer<Network, Batch<4>> alone({.threads = 1});
  All one;
  one.evaluate(alone, source);
  std::vector<All> found(3);
  launch(3, [&](comm::Threads& communicator) {
    Trainer<Network, Batch<4>, Communicator<Threads>, Shard<ZeRO3>> trainer(communicator);
    found[trainer.rank()].evaluate(trainer, source);
  });
  for (const All& rank : found) {
    CHECK(rank.accuracy.sums == one.accuracy.sums);
    CHECK(rank.top.sums == one.top.sums);
    CHECK(rank.confusion.sums == one.confusion.sums);
    CHECK(rank.classes.sums == one.classes.sums);
    CHECK(rank.perplexity.sums == found[0].perplexity.sums);
    CHECK(rank.perplexity.value() == Approx(one.perplexity.value()).epsilon(1e-12));
  }
}

namespace {
struct Line final : Model<Input<Vector<8>>, Linear<3>> {};
struct AbsoluteError final {
  std::vector<double> sums = std::vector<double>(2);
  std::size_t rows = 0, columns = 0;
  void add(const MetricBatch<float, float>& batch) {
    for (std::size_t i = 0; i < batch.targets.size(); ++i)
      sums[0] += std::abs(double(batch.outputs[i]) - double(batch.targets[i]));
    sums[1] += double(batch.targets.size());
    rows += batch.rows;
    columns = batch.columns;
  }
  double value() const { return mean_of(sums[0], sums[1]); }
};
}  // namespace

TEST_CASE("a metric of one's own sees predictions and targets of a regression, and its error ends the evaluation") {
  using Train = Trainer<Line, Batch<4>, Loss<MeanSquaredError>>;
  Train trainer({.threads = 1});
  const Fake source({.samples = 10, .classes = 4});
  AbsoluteError error;
  const Evaluation found = trainer.evaluate(source, error);
  CHECK(found.loss == trainer.evaluate(source).loss);
  CHECK(error.rows == 10);
  CHECK(error.columns == 3);
  std::vector<float> inputs(10 * 8), targets(10 * 3);
  for (std::size_t s = 0; s < 10; ++s)
    source.read(s, Sample<float, float>{std::span(inputs).subspan(s * 8, 8), std::span(targets).subspan(s * 3, 3)});
  const std::vector<float> outputs = trainer.predict(inputs);
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) sum += std::abs(double(outputs[i]) - double(targets[i]));
  CHECK(error.value() == sum / 30);

  struct Breaks {
    std::vector<double> sums{};
    void add(const MetricBatch<float, float>&) { throw Error("a metric", "more", "less"); }
  } breaks;
  ::test::refuses([&] { trainer.evaluate(source, error, breaks); }, "a metric: expected more, found less");
  CHECK(trainer.evaluate(source).loss == found.loss);
}

TEST_CASE("equal logits have the order of their classes, and a row that is no number is wrong") {
  const float nan = std::nanf("");
  const std::vector<float> outputs = {1, 2, 2, 0, 2, 2, 2, 2, nan, 9, 0, 0, 9, nan, 0, 0};
  const std::vector<std::int32_t> right{1, 0, 1, 0}, second{2, 1, 0, ignore_index};
  Accuracy accuracy;
  accuracy.add(MetricBatch<float, std::int32_t>{outputs, right, 4, 4, 4});
  CHECK(accuracy.sums == std::vector<double>{2, 4});
  accuracy = {};
  accuracy.add(MetricBatch<float, std::int32_t>{outputs, second, 4, 4, 4});
  CHECK(accuracy.sums == std::vector<double>{0, 3});
  TopK<2> top;
  top.add(MetricBatch<float, std::int32_t>{outputs, second, 4, 4, 4});
  CHECK(top.sums == std::vector<double>{2, 3});
  PrecisionRecall classes;
  classes.begin(4);
  classes.add(MetricBatch<float, std::int32_t>{outputs, right, 4, 4, 4});
  CHECK(classes.sums == std::vector<double>{1, 1, 2, 1, 1, 2, 0, 0, 0, 0, 0, 0});
  ConfusionMatrix large;
  ::test::refuses([&] { large.begin(4097); }, "expected a model of at most 4096 classes, found 4097");
}
// SPDX-License-Identifier: Apache-2.0
