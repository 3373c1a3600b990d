// What fit takes: sources and callbacks.
#include <regimen/regimen.hpp>

#include <regimen/data/samples.hpp>
#include <regimen/saves/safetensors.hpp>

#ifndef REGIMEN_MISUSE  // a mistake below is to leave it out
#include <regimen/watch/metrics.hpp>
#else
#include <regimen/watch/metric.hpp>
#endif

#include <cstdio>
#include <span>
#include <vector>

using namespace regimen;

// ---- source_writes_samples ------------------------------------------------------------------------------------------
// A data source that writes doubles, for a model in float.
// expect: this source writes other samples; give it size\(SampleShape\) const and read\(index, Sample<In, Label>\) const
// names: Sums
namespace source_writes_samples {
struct Net : Model<Input<Vector<2>>, Linear<1>> {};

struct Sums {
  std::size_t size(const SampleShape&) const { return 100; }
#ifndef REGIMEN_MISUSE
  void read(std::size_t index, Sample<float, float> sample) const {
#else
  void read(std::size_t index, Sample<double, double> sample) const {
#endif
    sample.input[0] = 1, sample.input[1] = 2 * index;
    sample.target[0] = 1 + 2 * index;
  }
};

void program() {
  Trainer<Net, Loss<MeanSquaredError>> trainer;
  trainer.fit(Sums{}, {.steps = 100});
}
}  // namespace source_writes_samples

// ---- source_writes_samples_dataset ----------------------------------------------------------------------------------
// A dataset whose pipeline lacks its last stage.
// expect: a dataset has values, and fit reads samples of this model; end it with \| data::samples\(write\)
// names: Squares
namespace source_writes_samples_dataset {
struct Net : Model<Input<Vector<1>>, Linear<8>, Relu, Linear<1>> {};

struct Squares {
  std::size_t size() const { return 100; }
  float at(const data::Key& key) const { return float(key.index); }
  std::string name() const { return "squares"; }
};

void program() {
  Trainer<Net, Loss<MeanSquaredError>> trainer;
#ifndef REGIMEN_MISUSE
  const auto write = [](float x, Sample<float, float> sample) { sample.input[0] = x, sample.target[0] = x * x; };
  trainer.fit(Squares() | data::samples(write), {.epochs = 10});
#else
  trainer.fit(Squares(), {.epochs = 10});
#endif
}
}  // namespace source_writes_samples_dataset

// ---- source_writes_samples_number -----------------------------------------------------------------------------------
// A number of steps where validation data stand.
// expect: a number is no source; give it its name among the options, fit\(source, \{\.steps = 1000\}\)
namespace source_writes_samples_number {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

void program() {
  Trainer<Mlp> trainer;
#ifndef REGIMEN_MISUSE
  trainer.fit(Fake(), {.steps = 1000});
#else
  trainer.fit(Fake(), 1000);
#endif
}
}  // namespace source_writes_samples_number

// ---- source_writes_samples_path -------------------------------------------------------------------------------------
// A path where data stand: what the file holds, its name does not say.
// expect: a path is no source; say what the file holds, as in Text\(path\), TokenFile\(path\), Idx\(\.\.\.\)
namespace source_writes_samples_path {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

void program() {
  Trainer<Gpt> trainer;
#ifndef REGIMEN_MISUSE
  trainer.fit(Text("input.txt"), {.steps = 1000});
#else
  trainer.fit("input.txt", {.steps = 1000});
#endif
}
}  // namespace source_writes_samples_path

// ---- data_type_matches ----------------------------------------------------------------------------------------------
// Class labels as floating-point numbers.
// expect: this model reads other data or labels; give it std::vector<Train::Input> and std::vector<Train::Label>
// names: float
// names: int
namespace data_type_matches {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Labels = std::vector<std::int32_t>;
#else
using Labels = std::vector<float>;
#endif

auto step(Trainer<Net>& trainer, const std::vector<float>& inputs, const Labels& labels) { return trainer.step(inputs, labels); }
}  // namespace data_type_matches

// ---- narrowing_data -------------------------------------------------------------------------------------------------
// Measurements in double for a model in float.
// expect: fp64 data would lose digits in this model; convert them to float, or compute in Precision<fp64>
// names: double
// names: float
namespace narrowing_data {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp64>>;
#else
using Train = Trainer<Net>;
#endif

auto outputs(Train& trainer, const std::vector<double>& measured) { return trainer.predict(std::span<const double>(measured)); }
}  // namespace narrowing_data

// ---- options_follow_sources -----------------------------------------------------------------------------------------
// Numbers of steps without a name.
// expect: fit takes a source, perhaps one for validation, then its options; write fit\(source, {\.steps = 1000}\)
namespace options_follow_sources {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, data, {.steps = 5, .validate_every = 6});
}
#else
void program() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, 5, 6);
}
#endif
}  // namespace options_follow_sources

// ---- options_follow_sources_three -----------------------------------------------------------------------------------
// Three sources.
// expect: fit takes a source, perhaps one for validation, then its options; write fit\(source, {\.steps = 1000}\)
namespace options_follow_sources_three {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Train = Trainer<Mlp>;

#ifndef REGIMEN_MISUSE
void program() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, data, {.steps = 5}, [](auto&, const StepResult& step) { return step.loss < 100; });
}
#else
void program() {
  Train trainer;
  const Fake data({.samples = 64, .classes = 3});
  trainer.fit(data, data, data, {.steps = 5}, [](auto&, const StepResult& step) { return step.loss < 100; });
}
#endif
}  // namespace options_follow_sources_three

// ---- borrows_no_temporary -------------------------------------------------------------------------------------------
// Batches of a source that is gone when the first of them is read.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::Fake
namespace borrows_no_temporary {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

void program() {
  Trainer<Mlp> trainer;
#ifndef REGIMEN_MISUSE
  const Fake source({.samples = 100, .classes = 3});
  auto batches = trainer.batches(source, {.epochs = 1});
#else
  auto batches = trainer.batches(Fake({.samples = 100, .classes = 3}), {.epochs = 1});
#endif
  for (auto next = batches.next(); next; next = batches.next()) trainer.step(next.input, next.target);
}
}  // namespace borrows_no_temporary

// ---- borrows_no_temporary_file --------------------------------------------------------------------------------------
// Tensors of a file that is closed at the end of the line: they lie in it. What owns itself a temporary gives as a value, as
// read_image(path).pixels() and ImageFolder(path).classes() do.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::safetensors::File
namespace borrows_no_temporary_file {
void program() {
#ifndef REGIMEN_MISUSE
  const safetensors::File file("gpt2.safetensors");
  for (const safetensors::Tensor& tensor : file.tensors()) std::printf("%s\n", tensor.name.c_str());
#else
  for (const safetensors::Tensor& tensor : safetensors::File("gpt2.safetensors").tensors())
    std::printf("%s\n", tensor.name.c_str());
#endif
}
}  // namespace borrows_no_temporary_file

// ---- callback_hears_launches ----------------------------------------------------------------------------------------
// A callback of one result, where a launch has several steps.
// expect: under Steps<K> fit calls after K steps; write a callback of \(auto& trainer, std::span<const StepResult>\)
// names: regimen::Steps<8
namespace callback_hears_launches {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
  Trainer<Net, Steps<8>> trainer;
#ifndef REGIMEN_MISUSE
  const auto print = [](auto&, std::span<const StepResult> steps) {
    for (const StepResult& step : steps) std::printf("%f\n", step.loss);
  };
#else
  const auto print = [](auto&, const StepResult& step) {
    std::printf("%f\n", step.loss);
  };
#endif
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.steps = 100}, print);
}
}  // namespace callback_hears_launches

// ---- callback_takes_event -------------------------------------------------------------------------------------------
// A callback that takes only the result of a step.
// expect: fit never calls this; write a callback of \(auto& trainer, const StepResult&\), or of const Evaluation&
namespace callback_takes_event {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
  Trainer<Net> trainer;
#ifndef REGIMEN_MISUSE
  const auto print = [](auto&, const StepResult& step) {
#else
  const auto print = [](const StepResult& step) {
#endif
    std::printf("%f\n", step.loss);
  };
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.steps = 100}, print);
}
}  // namespace callback_takes_event

// ---- callback_takes_event_result ------------------------------------------------------------------------------------
// A callback that would write into the result of a step.
// expect: fit never calls this; write a callback of \(auto& trainer, const StepResult&\), or of const Evaluation&
namespace callback_takes_event_result {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};

void program() {
  Trainer<Net> trainer;
#ifndef REGIMEN_MISUSE
  const auto print = [](auto&, const StepResult& step) {
#else
  const auto print = [](Trainer<Net>&, StepResult& step) {
#endif
    std::printf("%f\n", step.loss);
  };
  trainer.fit(Fake{{.samples = 64, .classes = 4}}, {.steps = 100}, print);
}
}  // namespace callback_takes_event_result

// ---- metrics_are_included -------------------------------------------------------------------------------------------
// A metric of one's own in fit, of which only the declaration is included.
// expect: a metric needs regimen/watch/metrics.hpp, which is not included here; include it before this
// names: CountRows
namespace metrics_are_included {
#ifndef REGIMEN_MISUSE
// #include <regimen/watch/metrics.hpp>
#else
// #include <regimen/watch/metric.hpp>
#endif

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

struct CountRows {
  std::vector<double> sums = std::vector<double>(1);
  void add(const MetricBatch<float, std::int32_t>& batch) { sums[0] += double(batch.rows); }
};

void program() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
  CountRows rows;
  trainer.fit(source, {.epochs = 1}, rows);
}
}  // namespace metrics_are_included

// ---- metrics_are_included_evaluate ----------------------------------------------------------------------------------
// A metric of one's own in evaluate, of which only the declaration is included.
// expect: a metric needs regimen/watch/metrics.hpp, which is not included here; include it before this
// names: CountRows
namespace metrics_are_included_evaluate {
#ifndef REGIMEN_MISUSE
// #include <regimen/watch/metrics.hpp>
#else
// #include <regimen/watch/metric.hpp>
#endif

struct Net : Model<Input<Vector<8>>, Linear<4>> {};

struct CountRows {
  std::vector<double> sums = std::vector<double>(1);
  void add(const MetricBatch<float, std::int32_t>& batch) { sums[0] += double(batch.rows); }
};

void program() {
  Trainer<Net> trainer;
  const Fake source{{.samples = 64, .classes = 4}};
  CountRows rows;
  trainer.evaluate(source, rows);
}
}  // namespace metrics_are_included_evaluate
// SPDX-License-Identifier: Apache-2.0
