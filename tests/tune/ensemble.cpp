// An ensemble is the mean of its members' predictions, and of the files that it is given.
// compiled with -O1
#include <regimen/data/rows.hpp>
#include <regimen/data/samples.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/tune/ensemble.hpp>

#include "support/catch.hpp"
#include "temporary.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace regimen;

namespace {

struct Small : Model<Input<Vector<12>>, Linear<8>, Relu, Linear<5>> {};
struct Wide : Model<Input<Vector<12>>, Linear<24>, Gelu, Linear<5>> {};

constexpr std::size_t samples = 37;

std::vector<float> inputs() {
  std::vector<float> all(samples * 12);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::sin(float(i) * 0.7f) * 2;
  return all;
}
template <class Network, class TheLoss>
std::string trained(const ::test::Directory& folder, const std::string& name, std::uint64_t seed, const auto& source) {
  Trainer<Network, Batch<16>, Loss<TheLoss>> trainer{{.seed = seed}};
  trainer.fit(source, {.steps = 20, .progress = false});
  trainer.save(folder / name);
  return folder / name;
}
std::vector<double> softmax(std::span<const float> row) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(double(logit));
  std::vector<double> all;
  for (const float logit : row) all.push_back(std::exp(double(logit)) / sum);
  return all;
}

}  // namespace

TEST_CASE("the ensemble of two models is the mean of the two, of probabilities for classes") {
  const ::test::Directory folder;
  std::vector<std::int32_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) labels[i] = i % 7 == 3 ? ignore_index : std::int32_t(i % 5);
  const Rows<float, std::int32_t> source(inputs(), labels, 12);
  const std::string first = trained<Small, CrossEntropy>(folder, "first", 1, source),
                    second = trained<Wide, CrossEntropy>(folder, "second", 2, source);
  Inference<Small, Batch<8>> a(first);
  Inference<Wide, Batch<8>> b(second);
  const std::vector<float> of_a = a.predict(inputs()), of_b = b.predict(inputs());
  Ensemble<Inference<Small, Batch<8>>, Inference<Wide, Batch<8>>> both({first, second});
  CHECK(both.members() == 2);
  const std::vector<float> mean = both.predict(inputs()), p = both.probabilities(inputs());
  REQUIRE(mean.size() == samples * 5);
  REQUIRE(p.size() == samples * 5);
  double loss = 0, right = 0, valid = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto pa = softmax(std::span(of_a).subspan(i * 5, 5)), pb = softmax(std::span(of_b).subspan(i * 5, 5));
    std::size_t largest = 0;
    for (std::size_t c = 0; c < 5; ++c) {
      CHECK(mean[i * 5 + c] == float((double(of_a[i * 5 + c]) + double(of_b[i * 5 + c])) / 2));
      // Rounded to float once: within 2^-25 of a value below 1, and a little for the sums in double.
      CHECK(std::abs(double(p[i * 5 + c]) - (pa[c] + pb[c]) / 2) < 1.001 * 0x1p-25);
      if (pa[c] + pb[c] > pa[largest] + pb[largest]) largest = c;
    }
    if (labels[i] == ignore_index) continue;
    const auto target = static_cast<std::size_t>(labels[i]);
    loss -= std::log((pa[target] + pb[target]) / 2);
    right += largest == target ? 1 : 0;
    valid += 1;
  }
  const Evaluation found = both.evaluate(source);
  CHECK(double(found.targets) == valid);
  CHECK(found.accuracy == right / valid);
  CHECK(found.loss == Approx(loss / valid).epsilon(1e-12));

  // One file twice is that file, with the same bits by batches of one size (BLAS may add in another order in others), and its
  // loss is the Trainer's.
  Ensemble<Inference<Small, Batch<8>>> alone({first}), twice({first, first});
  CHECK(alone.predict(inputs()) == of_a);
  CHECK(twice.predict(inputs()) == of_a);
  Trainer<Small, Batch<16>, Loss<CrossEntropy>> trainer;
  trainer.load_weights(first);
  const Evaluation expected = trainer.evaluate(source), single = alone.evaluate(source);
  CHECK(single.targets == expected.targets);
  CHECK(single.accuracy == expected.accuracy);
  CHECK(std::abs(single.loss - expected.loss) < 1e-5);
}

TEST_CASE("an ensemble of models of numbers has the mean squared error of their mean") {
  const ::test::Directory folder;
  std::vector<float> targets(samples * 5);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = std::cos(float(i));
  const Rows<float, float> source(inputs(), targets, 12);
  std::vector<std::string> files;
  for (const std::uint64_t seed : {1u, 2u, 3u})
    files.push_back(trained<Small, MeanSquaredError>(folder, std::to_string(seed), seed, source));
  std::vector<double> sums(samples * 5);
  for (const std::string& file : files) {
    Inference<Small> one(file);
    const std::vector<float> found = one.predict(inputs());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += double(found[i]);
  }
  double loss = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double error = sums[i] / 3 - double(targets[i]);
    loss += error * error;
  }
  Ensemble<Inference<Small>> three(files);
  const Evaluation found = three.evaluate_numbers(source);
  CHECK(found.targets == samples * 5);
  CHECK(found.loss == Approx(loss / double(samples * 5)).epsilon(1e-12));
  CHECK(std::isnan(found.accuracy));
  Ensemble<Inference<Small>> one({files[0]});
  Trainer<Small, Batch<16>, Loss<MeanSquaredError>> trainer;
  trainer.load_weights(files[0]);
  CHECK(std::abs(one.evaluate_numbers(source).loss - trainer.evaluate(source).loss) < 1e-5);
}

TEST_CASE("an ensemble evaluates pipelines, of classes and of numbers, whatever samples their writers take") {
  struct Rolled {
    std::size_t size() const { return samples; }
    std::size_t at(const data::Key& key) const { return key.index; }
    std::string name() const { return "rolled"; }
  };
  const auto write = [](std::size_t index, auto sample) {
    for (std::size_t i = 0; i < 12; ++i) sample.input[i] = std::sin(float(index * 12 + i) * 0.7f) * 2;
    for (std::size_t i = 0; i < sample.target.size(); ++i)
      data::put(sample.target.subspan(i, 1), (index + i) % 5);  // of five classes, or five numbers
  };
  const auto numbers = Rolled{} | data::samples([&](std::size_t index, Sample<float, float> to) { write(index, to); });
  const auto any = Rolled{} | data::samples(write);
  const ::test::Directory folder;
  const std::string of_numbers = trained<Small, MeanSquaredError>(folder, "numbers", 1, numbers),
                    of_classes = trained<Small, CrossEntropy>(folder, "classes", 2, any);
  Trainer<Small, Batch<16>, Loss<MeanSquaredError>> predicts;
  predicts.load_weights(of_numbers);
  Ensemble<Inference<Small>> regression({of_numbers}), classifier({of_classes});
  const Evaluation found = regression.evaluate_numbers(numbers);
  CHECK(found.targets == samples * 5);
  CHECK(std::abs(found.loss - predicts.evaluate(numbers).loss) < 1e-5);
  CHECK(regression.evaluate_numbers(any).loss == found.loss);
  Trainer<Small, Batch<16>, Loss<CrossEntropy>> classifies;
  classifies.load_weights(of_classes);
  CHECK(std::abs(classifier.evaluate(any).loss - classifies.evaluate(any).loss) < 1e-5);
}

TEST_CASE("an ensemble without a file for each model is refused") {
  using Both = Ensemble<Inference<Small>, Inference<Wide>>;
  ::test::refuses([] { Ensemble<Inference<Small>> none({}); }, "Ensemble: expected at least 1 file, found 0");
  ::test::refuses([] { Both one({"a"}); }, "Ensemble: expected 2 files, one for each model, found 1");
  ::test::refuses([] { Both two({"/no/a", "/no/b"}); }, "/no/a");
}
// SPDX-License-Identifier: Apache-2.0
