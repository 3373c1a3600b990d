// Metrics that fit is given: they count what predict gives before each step, on any ranks, and change no bit of a run.
#include <regimen/comm/launch.hpp>
#include <regimen/data/csv.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/metrics.hpp>
#include <regimen/watch/report.hpp>
#include <regimen/watch/tensorboard.hpp>

#include "support/captured.hpp"
#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t length = 8, classes = 11;
struct Net : Model<Input<Tokens<length>>, Embedding<Vocabulary<classes>, 16>, LayerNorm, Linear<classes>> {};

/// Sequences of which every third token has no target.
struct Gaps {
  std::size_t samples = 43;
  Fake fake{{.samples = samples, .classes = classes, .seed = 3}};
  std::size_t size(const SampleShape& shape) const { return fake.size(shape); }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    fake.read(index, sample);
    for (std::size_t i = index % 3; i < sample.target.size(); i += 3) sample.target[i] = ignore_index;
  }
};
const FitOptions run{
    .epochs = 2, .validate_every = 4, .order = Order::Sequential, .progress = false};  // 6 steps an epoch

/// What is told of training, and of evaluations.
struct Told {
  std::uint64_t step = 0, epoch = 0;
  bool evaluation = false, ended = false;
  double accuracy = 0, top = 0, perplexity = 0;
};
struct Outcome {
  std::vector<Told> told;
  std::vector<double> losses, weights, confusion, plain_losses, plain_weights;
};

template <class Train, class... Ranks>
Outcome trained(std::size_t samples, Ranks&... ranks) {
  const typename Train::Options options{.optimizer = {.learning_rate = 0.05}, .threads = 1};
  const Gaps source{samples};
  Outcome found;
  const auto hears = [](std::vector<double>& losses) {
    return [&losses](auto&, std::span<const StepResult> launch) {
      for (const StepResult& step : launch) losses.push_back(step.loss), losses.push_back(step.gradient_norm);
    };
  };
  const auto fit = [&](Train& trainer, std::vector<double>& losses, auto&... metrics) {
    trainer.poison_dead_memory();
    const auto listens = hears(losses);
    const auto one = [&](auto& of, const StepResult& step) { listens(of, std::span(&step, 1)); };
    if constexpr (Train::Session::steps > 1) trainer.fit(source, source, run, listens, metrics...);
    else trainer.fit(source, source, run, one, metrics...);
    CHECK(trainer.used().peak == trainer.planned().peak);
  };
  {
    Train trainer(ranks..., options);
    fit(trainer, found.plain_losses);
    found.plain_weights = support::weights_of<double>(trainer);
  }
  Train trainer(ranks..., options);
  Perplexity perplexity;
  ConfusionMatrix confusion;
  TopK<3> top;
  const auto note = [&](auto&, const Measured& of) {
    CHECK(of.values.size() == 3);
    CHECK(std::isnan(of.value("f1")));
    if (!of.evaluation) CHECK(of.value("perplexity") == perplexity.value());
    found.told.push_back({of.step, of.epoch, of.evaluation, of.ended, of.value("accuracy"), of.value("top_3_accuracy"),
                          of.value("perplexity")});
  };
  Accuracy accuracy;
  fit(trainer, found.losses, note, accuracy, top, confusion, perplexity);
  CHECK(accuracy.value() == found.told[found.told.size() - 2].accuracy);  // the last of training
  found.weights = support::weights_of<double>(trainer);
  found.confusion = confusion.sums;
  return found;
}

/// The witness predicts the samples of a step before it, and sorts the classes of each row.
struct Counts {
  double right = 0, among = 0, valid = 0, logs = 0;
  std::vector<double> matrix = std::vector<double>(classes * classes);

  void add(const std::vector<double>& outputs, std::span<const std::int32_t> targets) {
    for (std::size_t row = 0; row < targets.size(); ++row) {
      if (targets[row] == ignore_index) continue;
      const double* const x = outputs.data() + row * classes;
      std::vector<std::size_t> order(classes);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
      const auto target = static_cast<std::size_t>(targets[row]);
      right += order[0] == target;
      among += order[0] == target || order[1] == target || order[2] == target;
      valid += 1;
      matrix[target * classes + order[0]] += 1;
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[c] - x[target]);
      logs += std::log(sum);
    }
  }
  Told told(std::uint64_t step, std::uint64_t epoch, bool evaluation, bool ended) const {
    return {step, epoch, evaluation, ended, right / valid, among / valid, std::exp(logs / valid)};
  }
};
struct Witness {
  std::vector<Told> told;
  std::vector<double> confusion;
};
Witness witness(std::size_t samples) {
  using Train = Trainer<Net, Batch<8>, Precision<fp64>>;
  Train trainer({.optimizer = {.learning_rate = 0.05}, .threads = 1});
  const Gaps source{samples};
  std::vector<std::int32_t> inputs(samples * length), targets(samples * length);
  for (std::size_t s = 0; s < samples; ++s)
    source.read(s, {std::span(inputs).subspan(s * length, length), std::span(targets).subspan(s * length, length)});
  const std::span<const std::int32_t> x(inputs), y(targets);
  Witness found;
  const auto evaluate = [&](std::uint64_t step, std::uint64_t epoch) {
    Counts all;
    all.add(trainer.predict(x), y);
    found.told.push_back(all.told(step, epoch, true, false));
  };
  for (std::uint64_t epoch = 0, step = 0; epoch < 2; ++epoch) {
    Counts counts;
    for (std::size_t begin = 0; begin < samples; begin += 8) {
      const std::size_t first = begin * length, count = std::min<std::size_t>(8, samples - begin) * length;
      counts.add(trainer.predict(x.subspan(first, count)), y.subspan(first, count));
      trainer.step(x.subspan(first, count), y.subspan(first, count));
      ++step;
      const bool ended = begin + 8 >= samples;
      if (ended || step % 4 == 0) found.told.push_back(counts.told(step, epoch, false, ended));
      if (step % 4 == 0 || begin + 8 + epoch * samples >= 2 * samples) evaluate(step, epoch);
    }
    found.confusion = counts.matrix;
  }
  return found;
}

/// Counts are the same to the last one: in fp64 the order of sums moves a logit by 1e-15, and no two are that near.
/// Logarithms add up in another order: 2^-53 for each of 43 · 8, relative to the sum.
void check(const Outcome& found, const Witness& expected) {
  CHECK(found.losses == found.plain_losses);
  CHECK(found.weights == found.plain_weights);
  CHECK(found.confusion == expected.confusion);
  REQUIRE(found.told.size() == expected.told.size());
  for (std::size_t i = 0; i < found.told.size(); ++i) {
    const Told &a = found.told[i], &b = expected.told[i];
    INFO(i);
    CHECK(a.step == b.step);
    CHECK(a.epoch == b.epoch);
    CHECK(a.evaluation == b.evaluation);
    CHECK(a.ended == b.ended);
    CHECK(a.accuracy == b.accuracy);
    CHECK(a.top == b.top);
    CHECK(std::abs(a.perplexity - b.perplexity) <= 43 * 8 * 8 * 0x1p-53 * b.perplexity);
  }
}

template <std::size_t count, class... Policies>
void check_ranks(std::size_t samples) {
  const Witness expected = witness(samples);
  std::vector<Outcome> found(count);
  launch(count, [&](comm::Threads& ranks) {
    found[ranks.rank()] =
        trained<Trainer<Net, Batch<8 / count>, Precision<fp64>, Communicator<Threads>, Policies...>>(samples, ranks);
  });
  for (const Outcome& rank : found) check(rank, expected);
}

}  // namespace

TEST_CASE("metrics of fit count what predict gives before each step, and change no bit") {
  const Witness short_end = witness(43), whole = witness(40);
  REQUIRE(short_end.told.size() == 7);  // at 4, 6, 8, 12; of training, and, but for 6, of the evaluation
  REQUIRE(whole.told.size() == 7);      // at 4, 5, 8, 10; likewise
  CHECK(short_end.told[0].accuracy < short_end.told[5].accuracy);
  check(trained<Trainer<Net, Batch<8>, Precision<fp64>>>(43), short_end);
  check(trained<Trainer<Net, Batch<2>, Accumulate<4>, Precision<fp64>>>(40), whole);
  check(trained<Trainer<Net, Batch<8>, Steps<3>, Precision<fp64>, Checkpoint<Selective<LayerNorm>>>>(43), short_end);
}

TEST_CASE("metrics of fit are of all ranks, also where a rank has no samples") {
  check_ranks<2>(43);
  check_ranks<4, Shard<ZeRO3>>(43);
}

TEST_CASE("metrics of fit see what a device computes that the host cannot access") {
  check(trained<Trainer<Net, Batch<8>, Precision<fp64>, Device<Emulated>>>(43), witness(43));
  check(trained<Trainer<Net, Batch<2>, Accumulate<4>, Steps<2>, Precision<fp64>, Device<Emulated>>>(40), witness(40));
  check_ranks<2, Device<Emulated>, Shard<ZeRO2>>(43);
}

TEST_CASE("a step of samples of two epochs counts where its epoch does") {
  Trainer<Net, Batch<2>, Accumulate<4>> trainer({.threads = 1});
  Accuracy accuracy;
  std::vector<double> valid;
  trainer.fit(Gaps{}, {.epochs = 3, .progress = false}, accuracy, [&](auto&, const EpochEvent& epoch) {
    if (!epoch.ended) return;
    valid.push_back(accuracy.sums[1]);
    CHECK(valid.back() == double(epoch.targets));
  });
  REQUIRE(valid.size() == 3);
  CHECK(valid[0] > valid[1]);  // 22 micro-batches an epoch: 6 steps, 5, 6
}

TEST_CASE("what metrics find stands in the history, its table and the report") {
  Trainer<Net, Batch<8>> trainer({.threads = 1});
  History history;
  const ::test::Directory folder;
  TensorBoard board(folder / "runs", {.file = "tfevents"});
  trainer.fit(Gaps{}, Gaps{}, run, Accuracy{}, TopK<2>{}, PrecisionRecall{}, history, board);
  const ::test::Bytes events = ::test::get(folder / "runs/tfevents");
  const auto count = [text = std::string(events.begin(), events.end())](const std::string& name) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count("train/accuracy") == 4);
  CHECK(count("train/top_2_accuracy") == 4);
  CHECK(count("validation/accuracy") == 3);  // not twice
  CHECK(count("validation/f1") == 3);
  REQUIRE(history.metrics.size() == 7);
  CHECK(history.names_of_metrics() ==
        std::vector<std::string>{"accuracy", "top_2_accuracy", "precision", "recall", "f1"});
  for (const Measured& of : history.metrics)
    for (const auto& [step, evaluation] : history.evaluations)
      if (of.evaluation && of.step == step) CHECK(of.value("accuracy") == evaluation.accuracy);
  const std::string text = history.csv();
  std::size_t at = 0, line = 0, training = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1, ++line) {
    std::vector<std::string> cells(1);
    for (const char letter : text.substr(at, end - at))
      if (letter == ',') cells.emplace_back();
      else cells.back() += letter;
    REQUIRE(cells.size() == 16);
    if (line == 0) CHECK(cells[12] + " " + cells[15] == "top_2_accuracy f1");
    if (cells[0] != "training") continue;
    const std::size_t of = std::array<std::size_t, 4>{0, 2, 3, 5}[training++];  // where it is of training
    CHECK(std::stod(cells[4]) == history.metrics[of].value("accuracy"));
    CHECK(std::stod(cells[12]) == history.metrics[of].value("top_2_accuracy"));
    CHECK(std::stod(cells[15]) == history.metrics[of].value("f1"));
    CHECK(std::stoul(cells[5]) == history.metrics[of].targets);
  }
  for (std::size_t i = 0; i < 4; ++i) {  // 43 samples an epoch: of all their targets where it has ended
    const Measured& of = history.metrics[std::array<std::size_t, 4>{0, 2, 3, 5}[i]];
    for (const EpochEvent& epoch : history.epochs)
      if (epoch.ended && of.ended && epoch.epoch == of.epoch) CHECK(of.targets == epoch.targets);
    CHECK(of.targets > 0);
  }
  CHECK(training == 4);
  CHECK(report_html(trainer, history).find("top_2_accuracy") != std::string::npos);
}

namespace {
/// Names as people may choose them, where commas, quotation marks and ends of lines mean something else.
const std::array<std::string, 5> odd_names{"recall, of class 1", "\"best\" so far", "two\nlines\r\n", "a < b & 'c'",
                                           "\""};
struct Odd final {
  std::vector<double> sums = std::vector<double>(1);
  void add(const auto& batch) { sums[0] += double(batch.rows); }
  std::vector<MetricValue> values() const {
    std::vector<MetricValue> found;
    for (const std::string& name : odd_names) found.push_back({name, sums[0] + double(found.size())});
    return found;
  }
};
}  // namespace

TEST_CASE("a table gives back names of metrics that must be quoted, and the report and TensorBoard have them") {
  Trainer<Net, Batch<8>> trainer({.threads = 1});
  History history;
  const ::test::Directory folder;
  TensorBoard board(folder / "runs", {.file = "tfevents"});
  trainer.fit(Gaps{}, Gaps{}, run, Odd{}, TopK<2>{}, history, board);
  history.save_csv(folder / "run.csv");
  using Cell = std::optional<double>;
  const data::Csv<std::string, Cell, Cell, Cell, Cell, Cell, Cell> table(
      folder / "run.csv",
      {"event", odd_names[0], odd_names[1], odd_names[2], odd_names[3], odd_names[4], "top_2_accuracy"});
  REQUIRE(table.size() ==
          history.steps.size() + history.epochs.size() + history.evaluations.size() + history.metrics.size());
  std::vector<Measured> told;
  for (const Measured& of : history.metrics)
    if (!of.evaluation) told.push_back(of);
  std::size_t training = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto [event, first, second, third, fourth, fifth, top] = table.at({.index = i});
    if (event != "training") continue;
    const Measured& of = told.at(training++);
    CHECK(first == of.values[0].value);
    CHECK(second == of.values[1].value);
    CHECK(third == of.values[2].value);
    CHECK(fourth == of.values[3].value);
    CHECK(fifth == of.values[4].value);
    CHECK(top == of.value("top_2_accuracy"));
  }
  CHECK(training == 4);
  CHECK(told.size() == 4);
  const std::string page = report_html(trainer, history);
  CHECK(::test::says(page, "<h2>&quot;best&quot; so far</h2>"));
  CHECK(::test::says(page, "aria-label=\"&quot;best&quot; so far\""));
  CHECK(::test::says(page, "<h2>a &lt; b &amp; 'c'</h2>"));
  const ::test::Bytes events = ::test::get(folder / "runs/tfevents");  // a tag's length stands before it
  for (const std::string& name : odd_names)
    CHECK(::test::says(std::string(events.begin(), events.end()),
                       static_cast<char>(6 + name.size()) + ("train/" + name)));
}

TEST_CASE("the progress display shows what metrics find, and no number twice") {
  const auto run_on = [] {
    Trainer<Net, Batch<8>> trainer({.threads = 1});
    trainer.fit(Gaps{}, Gaps{}, {.epochs = 1}, Accuracy{}, TopK<2>{});
  };
  const std::string text = support::captured_error(run_on);
  INFO(text);
  CHECK(::test::says(text, "step 6  training accuracy 0."));
  CHECK(::test::says(text, "step 6  validation top_2_accuracy 0."));
}

namespace {
struct Line final : Model<Input<Vector<8>>, Linear<3>> {};
/// Without a name: only the object has the result.
struct AbsoluteError final {
  std::vector<double> sums = std::vector<double>(2);
  std::size_t most = ~std::size_t{0};
  void add(const MetricBatch<float, float>& batch) {
    if (most-- == 0) throw Error("a metric", "more", "less");
    for (std::size_t i = 0; i < batch.targets.size(); ++i)
      sums[0] += std::abs(double(batch.outputs[i]) - double(batch.targets[i]));
    sums[1] += double(batch.targets.size());
  }
  double value() const { return mean_of(sums[0], sums[1]); }
};
}  // namespace

TEST_CASE("a metric of one's own has its result after fit, and its error ends the step") {
  using Train = Trainer<Line, Batch<4>, Loss<MeanSquaredError>>;
  Train trainer({.threads = 1});
  const Fake source({.samples = 10, .classes = 4});
  AbsoluteError error;
  std::size_t named = 0;
  trainer.fit(source, {.epochs = 1, .progress = false}, error,
              [&](auto&, const Measured& of) { named += of.values.size() + 1; });
  CHECK(error.sums[1] == 30);
  CHECK(error.value() > 0);
  CHECK(named == 1);
  error.most = 1;  // of the second step
  ::test::refuses([&] { trainer.fit(source, {.epochs = 2, .progress = false}, error); }, "a metric: expected more");
  CHECK(trainer.steps_done() == 4);
  trainer.fit(source, {.epochs = 2, .progress = false});
  CHECK(trainer.steps_done() == 6);
}

/// Another result than Accuracy, of as many sums.
struct Named final {
  std::vector<double> sums = std::vector<double>(2);
  std::size_t throws_on = 2;  // value() throws on this rank
  std::size_t rank = 0;

  void add(const auto&) {}
  const char* name() const { return "named"; }
  double value() const {
    if (rank == throws_on) throw Error("named", "a value", "none");
    return 0;
  }
};

TEST_CASE("a result that one rank cannot compute ends the step of all ranks") {
  std::string errors[2];
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Net, Batch<4>, Communicator<Threads>> trainer(ranks);
    Named named;
    named.throws_on = 1, named.rank = ranks.rank();
    try {  // and the Trainer lives on until the other has heard of it
      trainer.fit(Gaps{}, Gaps{}, run, named);
    } catch (const std::exception& error) { errors[ranks.rank()] = error.what(); }
  });
  CHECK(::test::says(errors[0], "rank 1"));
  CHECK(::test::says(errors[0], "expected a value"));
  CHECK(::test::says(errors[1], "expected a value"));
}

/// A metric of any name.
struct Chosen final {
  std::string chosen;
  std::vector<double> sums = std::vector<double>(1);
  void add(const auto&) {}
  std::string name() const { return chosen; }
  double value() const { return 0; }
};

TEST_CASE("fit refuses metrics that a history would take for one another, or for a number of its own") {
  Trainer<Net, Batch<8>> trainer({.threads = 1});
  const auto fit = [&](auto... metrics) { trainer.fit(Gaps{}, Gaps{}, run, metrics...); };
  ::test::refuses([&] { fit(Chosen{"share"}, Accuracy{}, Chosen{"share"}); },
                  "metric share: expected a name of its own for each metric, found two of this name");
  ::test::refuses([&] { fit(Chosen{"loss"}); }, "metric loss: expected a name that History and TensorBoard have no");
  ::test::refuses([&] { fit(Chosen{"step_ms"}); }, "metric step_ms");
  CHECK(trainer.steps_done() == 0);
  ::test::refuses([&] { fit(PrecisionRecall{}, Chosen{"f1"}); }, "metric f1: expected a name of its own");
}

TEST_CASE("an evaluation before the first epoch of a call is of the epoch before") {
  Trainer<Net, Batch<8>> trainer({.threads = 1});
  trainer.fit(Gaps{}, {.steps = 8, .progress = false}, Accuracy{});
  const std::uint64_t place = trainer.steps_done();
  std::vector<std::uint64_t> epochs;
  trainer.fit(Gaps{}, Gaps{}, {.steps = place, .progress = false}, Accuracy{}, [&](auto&, const Measured& of) {
    if (of.evaluation) epochs.push_back(of.epoch);
  });
  CHECK(epochs == std::vector<std::uint64_t>{1});
}

TEST_CASE("all ranks give fit the same metrics") {
  std::string errors[2];
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Net, Batch<4>, Communicator<Threads>> trainer(ranks);
    const bool first = ranks.rank() == 0;
    errors[ranks.rank()] = ::test::error_of([&] {
      if (first) trainer.fit(Gaps{}, Gaps{}, run, Accuracy{});
      else trainer.fit(Gaps{}, Gaps{}, run, Accuracy{}, TopK<2>{});
    });
  });
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(::test::says(error, "Trainer::fit"));
  }
  launch(2, [&](comm::Threads& ranks) {  // as many sums, of another name
    Trainer<Net, Batch<4>, Communicator<Threads>> trainer(ranks);
    const bool first = ranks.rank() == 0;
    errors[ranks.rank()] = ::test::error_of([&] {
      if (first) trainer.fit(Gaps{}, Gaps{}, run, Accuracy{});
      else trainer.fit(Gaps{}, Gaps{}, run, Named{});
    });
  });
  for (const std::string& error : errors) CHECK(::test::says(error, "Trainer::fit"));
}
// SPDX-License-Identifier: Apache-2.0
