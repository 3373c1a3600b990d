// SampleWeighted: weights of targets, in micro-batches and on ranks, for each loss that takes them.
#include <regimen/comm/launch.hpp>
#include <regimen/data/class_weights.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/soft_cross_entropy.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>
#include <regimen/watch/metrics.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

using namespace regimen;

namespace {

struct Net final : Model<Input<Vector<4>>, Linear<8>, Tanh, Linear<3>> {};
template <class Function, class... Policies>
using Train = Trainer<Net, Precision<fp64>, Optimizer<Sgd>, Loss<Function>, Policies...>;

enum class Given { ones, some };

/// So many samples; of each loss its own targets: a class, or three numbers of which some are absent.
template <class Trained>
struct Data {
  using Label = typename Trained::Label;
  std::vector<double> x;
  std::vector<Label> y;

  explicit Data(std::size_t samples, Given weights = Given::some) : x(samples * 4), y(samples) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(3 * i + 1));
    for (std::size_t s = 0; s < samples; ++s) {
      const auto write = [&](auto& targets) {
        using T = std::remove_reference_t<decltype(targets[0])>;
        for (std::size_t j = 0; j < targets.size(); ++j)
          if constexpr (std::is_integral_v<T>) targets[j] = s % 5 == 4 ? ignore_index : T(s * 7 % 3);
          else targets[j] = std::abs(std::cos(double(5 * s + j)));
      };
      if constexpr (detail::is_bundle<Label>) {
        write(y[s].template get<0>());
        auto& of = y[s].template get<1>();
        for (std::size_t j = 0; j < of.size(); ++j)
          of[j] = weights == Given::ones ? 1 : float((s + j) % 4) / (s % 3 == 1 ? -2 : 2);  // 0, ±1/2, ±1, ±3/2
      }
    }
  }
  Rows<double, Label> rows() const { return Rows(x, y, 4); }
};
/// The same targets without weights.
template <class Plain, class Weighted>
Data<Plain> plain(const Data<Weighted>& weighted) {
  Data<Plain> found(0);
  found.x = weighted.x;
  for (const auto& label : weighted.y)
    for (const auto value : label.template get<0>()) found.y.push_back(value);
  return found;
}

struct Outcome {
  std::vector<double> losses, norms, weights;
  bool operator==(const Outcome&) const = default;
};
/// Two steps of eight samples, four of a rank where there are two, and an evaluation of seven.
template <class Trained, class... Ranks>
Outcome trained(const auto& data, const auto& held_out, Ranks&... ranks) {
  Trained trainer(ranks..., typename Trained::Options{.optimizer = {.learning_rate = 0.05}});
  trainer.poison_dead_memory();
  Outcome found;
  const auto hears = [&](auto&, const StepResult& step) {
    found.losses.push_back(step.loss), found.norms.push_back(step.gradient_norm), found.losses.push_back(step.weight);
  };
  const auto ends = [&](auto&, const EpochEvent& epoch) {
    if (epoch.ended) found.losses.push_back(epoch.loss);
  };
  trainer.fit(data, {.epochs = 1, .order = Order::Sequential, .progress = false}, hears, ends);
  const Evaluation evaluation = trainer.evaluate(held_out);
  found.losses.push_back(evaluation.loss);
  if (!std::isnan(evaluation.accuracy)) found.losses.push_back(evaluation.accuracy);
  CHECK(trainer.used().peak == trainer.planned().peak);
  found.weights = support::weights_of<double>(trainer);
  return found;
}
/// The same terms, of size 1, in other partial sums, through two layers: as masked.cpp says.
bool near(const Outcome& a, const Outcome& b) {
  const auto agree = [](const std::vector<double>& left, const std::vector<double>& right) {
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!(std::abs(left[i] - right[i]) <= 48 * 48 * 0x1p-53 * (1 + std::abs(left[i])))) return false;
    return left.size() == right.size();
  };
  return agree(a.losses, b.losses) && agree(a.norms, b.norms) && agree(a.weights, b.weights);
}

/// What differences may be off by: gradient_check.hpp's two terms, h = 1e-3, for twelve numbers (four samples of three) of
/// Net, whose inputs, targets and weights are within 1, and its parameters within 1/2; squared errors are the worst.
///   truncation   h^4 / 30 of the fifth derivative by a weight before Tanh, whose own derivatives are at most 1, 0.77, 2,
///                4.1, 16. An output is within 4.5, so a squared error has 2 · 5.5 · 1/2 · 16 + 2 · 1/4 · (5 · 4.1 + 10 ·
///                0.77 · 2) = 106 for each number. Cross-entropies, of derivatives below 1, have less than 40 a sample
///   rounding     of the loss, by 1.5 / h. In 2^-53: an output 100 (two sums of 5 and 9 terms), a squared error 11 times
///                that and 3 of 30; the sum of twelve 12 more of 363; so 12 · 1190 + 12 · 363 < 19000
/// Both relative to the largest gradient of a tensor: 1/3 and more with squared errors, 1/12 with cross-entropies, whose
/// terms are a tenth (as measured; the largest error was 2e-12). A missing or wrong term shows as 1e-3 and more.
constexpr double differences = 3 * (12 * 106 * 1e-12 / 30 + 1.5 / 1e-3 * 19000 * 0x1p-53);  // 1e-8

/// Weights of 1 change no bit; micro-batches and ranks add up; gradients are those of the loss.
template <class Function>
void check_loss() {
  using Whole = Train<SampleWeighted<Function>, Batch<8>>;
  const Data<Whole> ones(16, Given::ones), more(7, Given::ones), some(16), held_out(7);
  using Plain = Train<Function, Batch<8>>;
  CHECK(trained<Whole>(ones.rows(), more.rows()) ==
        trained<Plain>(plain<Plain>(ones).rows(), plain<Plain>(more).rows()));
  const Outcome whole = trained<Whole>(some.rows(), held_out.rows());
  CHECK(near(trained<Train<SampleWeighted<Function>, Batch<2>, Accumulate<4>>>(some.rows(), held_out.rows()), whole));
  Outcome all[2];
  launch(2, [&](comm::Threads& ranks) {
    using OfRank = Train<SampleWeighted<Function>, Batch<4>, Communicator<Threads>, Shard<ZeRO2>>;
    all[ranks.rank()] = trained<OfRank>(some.rows(), held_out.rows(), ranks);
  });
  CHECK(all[0] == all[1]);
  CHECK(near(all[0], whole));
  CHECK(gradient_check<Net, Loss<SampleWeighted<Function>>>().worst <= differences);
  CHECK(gradient_check<Net, Loss<SampleWeighted<Function>>, Batch<2>, Accumulate<2>>().worst <= differences);
}

}  // namespace

TEST_CASE(
    "a weight of 1 changes no bit, and others add up over micro-batches and ranks, in every loss that takes them") {
  check_loss<CrossEntropy>();
  check_loss<SmoothedCrossEntropy<Ratio<1, 10>>>();
  check_loss<SoftCrossEntropy>();
  check_loss<MeanSquaredError>();
  check_loss<BinaryCrossEntropy>();
}

TEST_CASE("a weight of 2 is the sample twice, and one of 0 is none, whatever is in it") {
  using Weighed = Train<SampleWeighted<CrossEntropy>, Batch<4>>;
  using Plain = Train<CrossEntropy, Batch<4>>;
  Weighed weighed;
  Plain twice;
  Data<Weighed> data(3, Given::ones);
  data.y[0].get<1>()[0] = 2, data.y[1].get<1>()[0] = 0;
  data.x[4] = 1e300;  // of the second
  const StepResult found = weighed.step(data.x, data.y);
  std::vector<double> x;
  std::vector<std::int32_t> y;
  for (const std::size_t s : {0u, 0u, 2u}) {
    x.insert(x.end(), data.x.begin() + 4 * std::ptrdiff_t(s), data.x.begin() + 4 * std::ptrdiff_t(s + 1));
    y.push_back(data.y[s].get<0>()[0]);
  }
  const StepResult expected = twice.step(x, y);
  CHECK(found.weight == 3);
  CHECK(found.targets == 3);
  CHECK(std::abs(found.loss - expected.loss) <= 8 * 0x1p-53);
  const auto weights = support::weights_of<double>(weighed), expected_weights = support::weights_of<double>(twice);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (std::abs(weights[i] - expected_weights[i]) > 48 * 0x1p-53) FAIL_CHECK(i);
}

TEST_CASE("without any weight there is no step, and a sum of weighted losses is not divided") {
  using Mean = Train<SampleWeighted<Masked<MeanSquaredError>>, Batch<4>>;
  using Sum = Train<Summed<SampleWeighted<Masked<MeanSquaredError>>>, Batch<4>>;
  Mean mean;
  Sum sum;
  Data<Mean> data(4);
  data.y[2].get<0>() = {no_target<double>, 1, no_target<double>};
  data.y[2].get<1>() = {7, 0.5, 9};
  double weight = 0;
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t j = 0; j < 3; ++j)
      if (!std::isnan(data.y[s].get<0>()[j])) weight += std::abs(double(data.y[s].get<1>()[j]));
  const StepResult one = mean.step(data.x, data.y), other = sum.step(data.x, data.y);
  CHECK(one.weight == weight);
  CHECK(other.weight == weight);
  CHECK(std::abs(other.loss - one.loss * weight) <= 4 * 0x1p-53 * std::abs(other.loss));

  const std::vector<double> before = support::weights_of<double>(mean);
  for (auto& label : data.y) label.get<1>().fill(0);
  const StepResult none = mean.step(data.x, data.y);
  CHECK(!none.applied);
  CHECK(std::isnan(none.loss));
  CHECK(support::weights_of<double>(mean) == before);
  // Nor with weights that fp32 cannot divide by: the update would be infinite.
  for (auto& label : data.y) label.get<1>().fill(1e-41f);
  const StepResult tiny = mean.step(data.x, data.y);
  CHECK(!tiny.applied);
  CHECK(std::isfinite(tiny.loss));
  CHECK(support::weights_of<double>(mean) == before);
}

TEST_CASE("classes have weights: the loss is PyTorch's weighted mean, and accuracy the share of the weights") {
  using Weighed = Train<SampleWeighted<CrossEntropy>, Batch<4>>;
  using Plain = Train<CrossEntropy, Batch<4>>;
  const std::vector<float> of_class{1, 0.25f, 4};
  const Data<Plain> samples = plain<Plain>(Data<Weighed>(13));
  const data::ClassWeights weighted(samples.rows(), of_class);
  Weighed trainer;
  Plain same;
  const std::vector<double> outputs = trainer.predict(samples.x);
  CHECK(outputs == same.predict(samples.x));
  double loss = 0, weight = 0, right = 0;
  for (std::size_t s = 0; s < 13; ++s) {
    if (samples.y[s] == ignore_index) continue;
    const double* const z = outputs.data() + 3 * s;
    const auto target = static_cast<std::size_t>(samples.y[s]);
    const double w = double(of_class[target]);
    loss += w * (std::log(std::exp(z[0]) + std::exp(z[1]) + std::exp(z[2])) - z[target]);
    weight += w;
    right += std::max({z[0], z[1], z[2]}) == z[target] ? w : 0;
  }
  const Evaluation found = trainer.evaluate(weighted);
  CHECK(std::abs(found.loss - loss / weight) <= 13 * 8 * 0x1p-53);
  CHECK(found.accuracy == right / weight);
  Accuracy accuracy;
  TopK<3> all;
  Perplexity perplexity;
  ConfusionMatrix confusion;
  PrecisionRecall of_classes;
  CHECK(trainer.evaluate(weighted, accuracy, all, perplexity, confusion, of_classes).loss == found.loss);
  CHECK(accuracy.sums == std::vector<double>{right, weight});
  CHECK(all.sums == std::vector<double>{weight, weight});
  CHECK(std::abs(perplexity.value() - std::exp(loss / weight)) <= 13 * 8 * 0x1p-53 * perplexity.value());
  CHECK(std::accumulate(confusion.sums.begin(), confusion.sums.end(), 0.0) == weight);
  CHECK(confusion.sums[0] + confusion.sums[4] + confusion.sums[8] == right);
  for (std::size_t c = 0; c < 3; ++c) CHECK(of_classes.sums[3 * c] == confusion.sums[4 * c]);
  Accuracy of_training;
  const FitOptions run{.steps = 1, .order = Order::Sequential, .progress = false};
  CHECK(trainer.fit(weighted, run, of_training).steps == 1);
  const std::vector<double> first = same.predict(std::span(samples.x).first(16));  // before that step
  double right_first = 0, weight_first = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    if (samples.y[s] == ignore_index) continue;
    const double* const z = first.data() + 3 * s;
    const double w = double(of_class[static_cast<std::size_t>(samples.y[s])]);
    weight_first += w;
    right_first += std::max({z[0], z[1], z[2]}) == z[samples.y[s]] ? w : 0;
  }
  CHECK(of_training.sums == std::vector<double>{right_first, weight_first});
  CHECK(trainer.fit(weighted, {.steps = 3, .progress = false}).steps == 3);
  // As many weights as the model has classes, whatever classes the data have; with no model, as they have.
  static_assert(Weighed::sample_shape().classes == 3);
  for (const std::vector<float>& wrong : {std::vector<float>{}, {1, 2}, {1, 2, 3, 4}}) {
    const data::ClassWeights other(samples.rows(), wrong);
    const std::string words = "ClassWeights of Rows: expected 3 weights, one for each class of the model, found " +
                              std::to_string(wrong.size()) + "; give ClassWeights a weight for each class";
    ::test::refuses([&] { trainer.fit(other, {.steps = 1, .progress = false}); }, words.c_str());
    ::test::refuses([&] { trainer.evaluate(other); }, words.c_str());
    ::test::refuses([&] { trainer.fit(weighted, other, {.steps = 1, .progress = false}); }, words.c_str());
  }
  const data::ClassWeights fewer(samples.rows(), {1, 2});
  CHECK(fewer.size({.input = 4, .target = 1}) == 13);
  double input[4];
  Weighed::Label target[1];
  const Sample<double, Weighed::Label> sample{input, target};
  fewer.read(data::Key{.index = 1}, sample);
  CHECK((target[0].get<0>()[0] == 1 && target[0].get<1>()[0] == 2));
  ::test::refuses([&] { fewer.read(data::Key{.index = 2}, sample); },
                  "expected a class with a weight, 0 to 1, found 2");
  for (const float wrong : {-5.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    ::test::refuses([&] { data::ClassWeights(samples.rows(), {1, wrong, 1}); },
                    "ClassWeights of Rows, class 1: expected a finite weight of at least 0");
}

/// The second sample's answer becomes less likely: what a policy gradient is.
TEST_CASE("weights below 0 turn gradients round, and what divides is the sum of their sizes") {
  const auto check = [](auto* trained, const std::vector<float>& advantages, double divisor) {
    using Weighed = std::remove_pointer_t<decltype(trained)>;
    Data<Weighed> data(advantages.size(), Given::ones);
    double of_targets = 0;
    for (std::size_t s = 0; s < advantages.size(); ++s)
      data.y[s].template get<1>()[0] = advantages[s], of_targets += std::abs(double(advantages[s]));
    Weighed trainer({.optimizer = {.learning_rate = 0.5}});
    const std::vector<double> outputs = trainer.predict(data.x);
    double loss = 0, bias[3] = {};  // the gradient of the last bias is that of the logits, summed over samples
    for (std::size_t s = 0; s < advantages.size(); ++s) {
      const double* const z = outputs.data() + 3 * s;
      const double sum = std::exp(z[0]) + std::exp(z[1]) + std::exp(z[2]), a = double(advantages[s]);
      const auto target = static_cast<std::size_t>(data.y[s].template get<0>()[0]);
      loss += a * (std::log(sum) - z[target]);
      for (std::size_t c = 0; c < 3; ++c) bias[c] += a * (std::exp(z[c]) / sum - (c == target ? 1 : 0));
    }
    const std::vector<double> before = support::weights_of<double>(trainer);
    const StepResult step = trainer.step(data.x, data.y);
    const std::vector<double> after = support::weights_of<double>(trainer);
    CHECK(step.applied);
    CHECK(step.weight == of_targets);
    // A logit is within 4.5, by a sum of 9 terms: off by 20 · 2^-53 of that. Terms of the loss double that, and few are added.
    const double rounding = 4 * 2 * 20 * 4.5 * 0x1p-53;
    CHECK(std::abs(step.loss - loss / divisor) <= rounding);
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(std::abs(before[before.size() - 3 + c] - after[after.size() - 3 + c] - 0.5 * bias[c] / divisor) <=
            rounding);
  };
  using Mean = Train<SampleWeighted<CrossEntropy>, Batch<4>>;
  using Sum = Train<Summed<SampleWeighted<CrossEntropy>>, Batch<4>>;
  check(static_cast<Mean*>(nullptr), {1, -0.5f, 0.25f, -2}, 3.75);
  check(static_cast<Sum*>(nullptr), {1, -0.5f, 0.25f, -2}, 1);
  check(static_cast<Mean*>(nullptr), {1, -1, 0.5f, -0.5f}, 3);  // whose sum is 0
  check(static_cast<Sum*>(nullptr), {1, -1}, 1);
  check(static_cast<Mean*>(nullptr), {-1}, 1);
  // An advantage of less than 0 lowers the probability of what was done.
  Sum trainer({.optimizer = {.learning_rate = 0.5}});
  Data<Sum> data(1, Given::ones);
  data.y[0].get<1>()[0] = -0.5f;
  const double first = -trainer.step(data.x, data.y).loss, second = -trainer.step(data.x, data.y).loss;
  CHECK(second > first);
}

TEST_CASE("accuracies count a target by the size of its weight") {
  using Weighed = Train<SampleWeighted<CrossEntropy>, Batch<4>>;
  Weighed trainer;
  Data<Weighed> data(4, Given::ones);
  const std::vector<double> outputs = trainer.predict(data.x);
  double right = 0, weight = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    const double* const z = outputs.data() + 3 * s;
    const std::int32_t largest = z[0] > z[1] && z[0] > z[2] ? 0 : z[1] > z[2] ? 1 : 2;
    data.y[s].get<0>()[0] = s < 2 ? largest : (largest + 1) % 3;
    data.y[s].get<1>()[0] = s % 2 == 0 ? -0.75f : 0.5f;
    right += s < 2 ? std::abs(double(data.y[s].get<1>()[0])) : 0;
    weight += std::abs(double(data.y[s].get<1>()[0]));
  }
  Accuracy accuracy;
  CHECK(trainer.evaluate(data.rows(), accuracy).accuracy == right / weight);
  CHECK(accuracy.sums == std::vector<double>{right, weight});
}

TEST_CASE("a weight that is no finite number is refused before its batch is loaded") {
  using Weighed = Train<SampleWeighted<CrossEntropy>, Batch<4>>;
  Weighed trainer;
  Data<Weighed> data(4);
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    data.y[2].get<1>()[0] = wrong;
    ::test::refuses([&] { trainer.step(data.x, data.y); },
                    "step 1, weight of sample 2: expected a finite number, found");
  }
  data.y[2].get<0>()[0] = 3;
  data.y[2].get<1>()[0] = 1;
  ::test::refuses([&] { trainer.step(data.x, data.y); }, "one of 3 classes");
}
// SPDX-License-Identifier: Apache-2.0
