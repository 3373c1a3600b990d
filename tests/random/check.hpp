// tests/random/check.hpp — what must be true of every program that a seed draws.
#pragma once

#include <regimen/comm/launch.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "random/program.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace regimen::random {

// ---- a Trainer whose type is forgotten: what is below it is compiled once

/// What a step gives; equal where every bit is.
struct Outcome {
  std::vector<double> values;
  void add(double value) { values.push_back(value); }
  template <class Range>
  void add_all(const Range& range) {
    for (const auto value : range) values.push_back(static_cast<double>(value));
  }
  bool operator==(const Outcome& other) const {
    return values.size() == other.values.size() &&
           std::equal(values.begin(), values.end(), other.values.begin(), [](double a, double b) {
             return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
                    (std::isnan(a) && std::isnan(b));
           });
  }
  bool all_finite() const {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  }
};

/// A number of the data: a function of its place and nothing else.
inline std::uint64_t number_at(std::uint64_t key, std::uint64_t index) {
  return Philox::mix(Philox::mix(0xDA7A, key), index) >> 16;
}
template <class T>
T value_at(std::uint64_t key, std::uint64_t index, [[maybe_unused]] std::size_t bound) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(number_at(key, index) % bound);
  else return static_cast<T>(static_cast<double>(number_at(key, index) % 4096) / 2048 - 1);
}

/// All values of a bundle.   ignores   of every fifth whole number, no class
template <class... Values, std::size_t count>
void fill_bundle(Bundled<Values...>& bundle, std::uint64_t index, const std::array<std::size_t, count>& bounds,
                 bool ignores) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto fill = [&]<class T, std::size_t size>(std::array<T, size>& part, std::uint64_t key, std::size_t bound) {
      for (std::size_t j = 0; j < size; ++j) {
        part[j] = value_at<T>(key, index + j, bound > 0 ? bound : 2);
        if constexpr (std::is_integral_v<T>)
          if (ignores && number_at(3, index + j) % 5 == 0) part[j] = ignore_index;
      }
    };
    (fill(bundle.template get<i>(), 4 + i, bounds[i]), ...);
  }(std::index_sequence_for<Values...>{});
}
/// Of targets with weights: some classes are ignored, and weights are 1/2 to 2, or below 0. Returns how much those count; it
/// is above 0 for every second sample.
template <class Targets, class Weights>
double fill_weighted(Bundled<Targets, Weights>& bundle, std::uint64_t sample, std::size_t bound) {
  fill_bundle(bundle, sample * 4096, std::array<std::size_t, 2>{bound, 0}, false);
  double sum = 0;
  for (std::size_t j = 0; j < Weights::size; ++j) {
    bundle.template get<1>()[j] = static_cast<float>(1 + number_at(5, sample * 4096 + j) % 4) /
                                  (number_at(6, sample * 4096 + j) % 4 == 0 ? -2 : 2);
    if constexpr (std::is_integral_v<typename Targets::Element>)
      if (number_at(3, sample * 4096 + j) % 5 == 0 && (sample % 2 == 1 || j > 0)) {
        bundle.template get<0>()[j] = ignore_index;
        continue;
      }
    sum += op::count_of_weight(static_cast<double>(bundle.template get<1>()[j]));
  }
  return sum;
}
template <class Function>
inline constexpr bool is_weighted = false;
template <class Function>
inline constexpr bool is_weighted<SampleWeighted<Function>> = true;
template <class Function>
inline constexpr bool is_masked = false;
template <class Function>
inline constexpr bool is_masked<Masked<Function>> = true;

/// Which samples a rank has in a step: `count` of the global batch, where ranks alternate micro-batch by micro-batch.
struct Place {
  std::uint64_t step = 0;
  std::size_t rank = 0, ranks = 1, micro_batch = 1, count = 0;
  std::uint64_t sample(std::size_t i) const {
    return step * 1000 + ((i / micro_batch) * ranks + rank) * micro_batch + i % micro_batch;
  }
};

class Subject {
 public:
  virtual ~Subject() = default;
  std::size_t batch = 0, micro_batches = 0, planned_operations = 0, planned_peak = 0;
  bool steps_take_most = true;  // and not an evaluation, as far as is known

  virtual StepResult step(const Place& place) = 0;
  virtual Used used() = 0;
  virtual void poison() = 0;
  virtual Outcome weights() = 0;
  virtual void save(const std::string& path) = 0;
  virtual void load(const std::string& path) = 0;
  /// Outputs of `samples`, by the Trainer and by an Inference that has read `file`; their loss, as the Trainer
  /// evaluates it and as it follows from the outputs.
  struct Evaluated {
    Outcome predicted, inferred, shared;  // shared: by an Inference with the weights of another
    double loss = 0, loss_of_outputs = 0;
  };
  virtual Evaluated evaluate(std::size_t samples, const std::string& file) = 0;
  /// By hand: the loss of the step's samples (of all micro-batches, a mean over their targets), and the gradients of
  /// that, on one rank.
  virtual double loss_by_hand(const Place& place, Outcome* gradients) = 0;
  /// Adds to element `at` of all weights that train, in the order of the gradients.
  virtual void nudge(std::size_t at, double by) = 0;
  /// Of all weights that train, in that order: whether it is of a row whose lookups have no gradient.
  virtual std::vector<bool> padded() const = 0;
  bool ties_padded = false;  // whether something else may read such a row
  virtual StepResult apply_by_hand(const Place& place) = 0;
  std::size_t capacity() const { return batch * micro_batches; }
};

using Maker = std::unique_ptr<Subject> (*)(comm::Threads*);

/// What of a Trainer a check calls: what none does is not compiled.
inline constexpr unsigned nothing = 0, by_hand = 1, saves = 2, loads = 4, predicts = 8;

template <class Train>
using inference_of_t = Inference<typename Train::Recipe::Network, Precision<typename Train::Recipe::Roles::computed>,
                                 Batch<Train::batch>, typename Train::Configuration::fusion>;

template <class Train, unsigned needs>
class SubjectOf final : public Subject {
  using In = typename Train::Input;
  using Label = typename Train::Label;
  static constexpr std::size_t input_size = Train::input_size, target_size = Train::target_size,
                               columns = Train::Step::Output::columns;
  static constexpr bool alone = Train::Step::Sharding::alone, sums = Train::Configuration::loss::sums;

 public:
  explicit SubjectOf(comm::Threads* ranks) : trainer_(made(ranks)) {
    batch = Train::batch;
    micro_batches = Train::micro_batches;
    planned_operations = trainer_.planned().operations();
    planned_peak = trainer_.planned().peak;
    ties_padded =
        mp::mp_any_of<detail::layers_in<walk::layers_of<typename Train::Recipe::Network>>, walk::is_tied>::value;
    // What the constant plan says holds for as many ranks alone.
    steps_take_most = trainer_.ranks() == Train::Recipe::planned_ranks &&
                      Train::Recipe::evaluation_walked.peak < Train::Recipe::step_walked.peak;
  }

  StepResult step(const Place& place) override {
    bring(place);
    return trainer_.step(std::span<const In>(inputs_), std::span<const Label>(targets_));
  }
  Used used() override { return trainer_.used(); }
  void poison() override {
    trainer_.poison_dead_memory();
    if (trainer_.ranks() == 1)
      for (const auto& gradient : trainer_.gradients())
        std::memset(gradient.values.data(), 0xFF, gradient.values.size_bytes());
  }
  Outcome weights() override {
    Outcome all;
    for (const auto& parameter : trainer_.parameters()) all.add_all(parameter.values);
    return all;
  }
  Evaluated evaluate(std::size_t samples, const std::string& file) override {
    Evaluated result;
    if constexpr ((needs & predicts) != 0) {
      bring({77, 0, 1, samples, samples});
      const auto outputs = trainer_.predict(std::span<const In>(inputs_));
      result.predicted.add_all(outputs);
      inference_of_t<Train> inference(file), sharer = inference.share();
      for (inference_of_t<Train>* const model : {&inference, &sharer}) {
        model->poison_dead_memory();
        (model == &inference ? result.inferred : result.shared).add_all(model->predict(std::span<const In>(inputs_)));
      }
      result.loss_of_outputs = mean_loss(static_cast<typename Train::Configuration::loss::function*>(nullptr), outputs);
      if (sums) result.loss_of_outputs *= valid_;
      result.loss = trainer_.evaluate(Rows<In, Label>(inputs_, targets_, input_size), 0).loss;
    }
    return result;
  }
  void save(const std::string& path) override {
    if constexpr ((needs & saves) != 0) trainer_.save(path);
  }
  void load(const std::string& path) override {
    if constexpr ((needs & loads) != 0) trainer_.load(path);
  }
  double loss_by_hand(const Place& place, Outcome* gradients) override {
    if constexpr ((needs & by_hand) != 0) {
      double sum = 0, count = 0;
      std::size_t done = 0;
      while (done < place.count) {
        const std::size_t now = (std::min)(batch, place.count - done);
        bring(place, done, now);
        const UnscaledLoss loss = trainer_.forward(std::span<const In>(inputs_), std::span<const Label>(targets_));
        if (valid_ > 0) sum += loss.value() * (sums ? 1 : valid_);
        count += valid_;
        done += now;
        if (gradients != nullptr || done < place.count) trainer_.backward(loss);
      }
      if (gradients != nullptr) {
        const double divisor = trainer_.gradient_divisor();
        for (const auto& gradient : trainer_.gradients())
          for (const auto value : gradient.values) gradients->add(static_cast<double>(value) / divisor);
      }
      trainer_.abandon();
      return sums ? sum : sum / count;
    }
    return 0;
  }
  StepResult apply_by_hand(const Place& place) override {
    if constexpr ((needs & by_hand) != 0) {
      for (std::size_t done = 0;;) {
        const std::size_t now = (std::min)(batch, place.count - done);
        bring(place, done, now);
        const Gradients gradients =
            trainer_.backward(trainer_.forward(std::span<const In>(inputs_), std::span<const Label>(targets_)));
        done += now;
        if (done == place.count) return trainer_.apply(gradients);
      }
    }
    return {};
  }
  std::vector<bool> padded() const override {
    std::vector<bool> all;
    for (const programs::TensorRecord& tensor : programs::list_tensors<typename Train::Recipe::Bound>()) {
      if (!tensor.place.trains) continue;
      const std::size_t before = all.size(), row = tensor.parameter.extents[1];
      all.resize(before + tensor.place.count);
      if (tensor.parameter.zero_row >= 0)
        std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(
                                      before + static_cast<std::size_t>(tensor.parameter.zero_row) * row),
                    row, true);
    }
    return all;
  }
  void nudge(std::size_t at, double by) override {
    for (const auto& parameter : trainer_.parameters()) {
      if (!parameter.trains) continue;
      if (at < parameter.values.size()) {
        parameter.values[at] += static_cast<typename Train::Master>(by);
        break;
      }
      at -= parameter.values.size();
    }
    trainer_.parameters_changed();
  }

 private:
  static Train made([[maybe_unused]] comm::Threads* ranks) {
    typename Train::Options options;
    options.optimizer.learning_rate = 0.02;
    if constexpr (requires { options.optimizer.momentum; }) options.optimizer.momentum = 0.5;
    if constexpr (requires { options.optimizer.weight_decay; })
      for (const programs::TensorRecord& tensor : programs::list_tensors<typename Train::Recipe::Bound>())
        if (tensor.place.trains && tensor.place.decays && tensor.place.group == 0) options.optimizer.weight_decay = 0.1;
    options.threads = 1;
    options.schedule = Schedule::warmup_cosine(1, 6, 0.5);
    if constexpr (requires { options.optimizer.schedules; }) {
      constexpr std::size_t group = group_with_schedule<typename Train::Recipe::Network>;
      if (group == 1) options.optimizer.schedules.first = Schedule::steps(2, 0.25);
      if (group == 2) options.optimizer.schedules.rest = Schedule::warmup_linear(2, 5, 0.125);
    }
    if constexpr (alone) return Train(options);
    else return Train(*ranks, options);
  }
  /// The definition of each loss, in fp64; NaN where nobody has written it down.
  double mean_loss(const void*, const auto&) const { return std::nan(""); }
  template <class Function>
  double mean_loss(const Masked<Function>*, const auto& outputs) const {
    return mean_loss(static_cast<const Function*>(nullptr), outputs);  // which leaves out what has no target
  }
  template <class Function>
  double mean_loss(const SampleWeighted<Function>*, const auto& outputs) const {
    return mean_loss(static_cast<const Function*>(nullptr), outputs);  // which multiplies by weights
  }
  static constexpr bool has_weights = is_weighted<typename Train::Configuration::loss::function>;
  /// Target i of all samples, and its weight.
  auto target_at(std::size_t i) const {
    if constexpr (has_weights) {
      const auto& all = targets_[0].template get<0>();
      return targets_[i / all.size()].template get<0>()[i % all.size()];
    } else return targets_[i];
  }
  double weight_at([[maybe_unused]] std::size_t i) const {
    if constexpr (has_weights) {
      const auto& all = targets_[0].template get<1>();
      return static_cast<double>(targets_[i / all.size()].template get<1>()[i % all.size()]);
    } else return 1;
  }
  double mean_loss(const MeanSquaredError*, const auto& outputs) const {
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (const double t = static_cast<double>(target_at(i)); !is_nan(t))
        sum += weight_at(i) * std::pow(static_cast<double>(outputs[i]) - t, 2);
    return sum / valid_;
  }
  double mean_loss(const BinaryCrossEntropy*, const auto& outputs) const {
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (is_nan(target_at(i))) continue;
      const double yes = 1 / (1 + std::exp(-static_cast<double>(outputs[i]))),
                   t = static_cast<double>(target_at(i));  // any number
      sum -= weight_at(i) * (t * std::log(yes) + (1 - t) * std::log1p(-yes));
    }
    return sum / valid_;
  }
  /// log Σ e^output of a row, whose outputs may be large.
  static double log_sum_of(const auto& outputs, std::size_t first) {
    double largest = static_cast<double>(outputs[first]), sum = 0;
    for (std::size_t v = first; v < first + columns; ++v)
      largest = (std::max)(largest, static_cast<double>(outputs[v]));
    for (std::size_t v = first; v < first + columns; ++v) sum += std::exp(static_cast<double>(outputs[v]) - largest);
    return largest + std::log(sum);
  }
  double mean_loss(const SoftCrossEntropy*, const auto& outputs) const {
    double sum = 0;
    for (std::size_t first = 0; first < outputs.size(); first += columns) {
      const double all = log_sum_of(outputs, first);
      for (std::size_t v = first; v < first + columns; ++v)
        sum += static_cast<double>(targets_[v]) * (all - static_cast<double>(outputs[v]));
    }
    return sum / static_cast<double>(outputs.size() / columns);
  }
  template <class Smoothing>
  double mean_loss(const SmoothedCrossEntropy<Smoothing>*, const auto& outputs) const {
    double sum = 0, count = 0;
    for (std::size_t row = 0; row < outputs.size() / columns; ++row) {
      const auto target = target_at(row);
      if (target == ignore_index) continue;
      double mean = 0;
      for (std::size_t v = 0; v < columns; ++v)
        mean += static_cast<double>(outputs[row * columns + v]) / double(columns);
      const double of_target = static_cast<double>(outputs[row * columns + static_cast<std::size_t>(target)]);
      sum += weight_at(row) *
             (log_sum_of(outputs, row * columns) - (1 - Smoothing::value) * of_target - Smoothing::value * mean);
      count += op::count_of_weight(weight_at(row));
    }
    return sum / count;
  }
  void bring(const Place& place) { bring(place, 0, place.count); }
  void bring(const Place& place, std::size_t first, std::size_t count) {
    constexpr auto words = rule::vocabulary_of<typename Train::Recipe::Network>();
    inputs_.resize(count * input_size);
    targets_.resize(count * target_size);
    valid_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t sample = place.sample(first + i);
      for (std::size_t j = 0; j < input_size; ++j)
        if constexpr (regimen::detail::is_bundle<In>)
          fill_bundle(inputs_[i * input_size + j], sample * 4096, words, false);
        else inputs_[i * input_size + j] = value_at<In>(1, sample * 4096 + j, words > 0 ? words : 2);
      for (std::size_t j = 0; j < target_size; ++j) {
        Label& target = targets_[i * target_size + j];
        if constexpr (is_weighted<typename Train::Configuration::loss::function>)
          valid_ += fill_weighted(target, sample, Train::Step::classes[0]);
        else if constexpr (regimen::detail::is_bundle<Label>)
          fill_bundle(target, sample * 4096, Train::Step::classes, true);
        else target = value_at<Label>(2, sample * 4096 + j, Train::Step::classes);
        if constexpr (std::is_same_v<typename Train::Configuration::loss::function, SoftCrossEntropy>)
          target = (1 + target) / static_cast<Label>(columns);  // in sum about 1
        if constexpr (std::is_integral_v<Label>)
          if (number_at(3, sample * 4096 + j) % 5 == 0 && (sample % 2 == 1 || j > 0)) target = ignore_index;
        if constexpr (is_masked<typename Train::Configuration::loss::function>)
          if (number_at(3, sample * 4096 + j) % 5 == 0 && (sample % 2 == 1 || j > 0)) target = no_target<Label>;
        if constexpr (std::is_integral_v<Label>) valid_ += target != ignore_index;
        else if constexpr (Number<Label>) valid_ += is_nan(target) ? 0 : 1;
        else if constexpr (!is_weighted<typename Train::Configuration::loss::function>) valid_ += 1;
      }
    }
  }

  Train trainer_;
  std::vector<In> inputs_;
  std::vector<Label> targets_;
  double valid_ = 0;
};

template <class Train, unsigned needs>
std::unique_ptr<Subject> make_subject(comm::Threads* ranks) {
  return std::make_unique<SubjectOf<Train, needs>>(ranks);
}

// ---- what is checked

/// What was found, in words; empty when all is well. Ranks report from threads of their own.
class Findings {
 public:
  explicit Findings(std::string about) : about_(std::move(about)) {}
  void expect(bool holds, const std::string& what) {
    if (holds) return;
    const std::lock_guard lock(mutex_);
    if (text_.empty() || text_.find(what) == std::string::npos) text_ += "  " + what + "\n";
  }
  std::string text() const { return text_.empty() ? "" : about_ + "\n" + text_; }

 private:
  std::string about_, text_;
  std::mutex mutex_;
};

/// Calls body(subject, rank, ranks) on that many ranks; 0: the program knows of no ranks.
inline void on_ranks(std::size_t ranks, Maker maker,
                     const std::function<void(Subject&, std::size_t, std::size_t)>& body) {
  if (ranks == 0) {
    const std::unique_ptr<Subject> subject = maker(nullptr);
    body(*subject, 0, 1);
  } else {
    launch(ranks, [&](comm::Threads& communicator) {
      const std::unique_ptr<Subject> subject = maker(&communicator);
      body(*subject, communicator.rank(), ranks);
    });
  }
}

/// One program, as the checks see it.
struct Case {
  Maker maker = nullptr;
  bool alone = true;                 // has it no ranks?
  std::size_t group = 0, world = 0;  // of Hybrid, World
  std::vector<std::size_t> ranks() const {
    if (alone) return {1};
    std::vector<std::size_t> result;
    for (std::size_t ranks : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}})
      if ((group == 0 ? ranks < 4 : ranks % group == 0) && (world == 0 || ranks == world)) result.push_back(ranks);
    return result;
  }
};

inline constexpr std::uint64_t step_count = 4;

/// What `program` computes in four steps, the second of which is short by a sample: losses, norms, weights of rank 0,
/// after all ranks were found to have the same.
struct Training {
  std::size_t ranks = 1;
  bool poison = false;
  std::string file = {};  // what is saved after step `at`, and goes on as `second`
  std::uint64_t at = step_count;
  bool is_short = true;
  std::uint64_t steps = step_count;

  Outcome operator()(const Case& first, const Case& second, Findings& findings) const {
    std::vector<Outcome> outcomes(ranks);
    run(first, 0, (std::min)(at, steps), outcomes, findings);
    if (at < steps) run(second, at, steps, outcomes, findings);
    for (const Outcome& other : outcomes) findings.expect(other == outcomes[0], "ranks differ");
    return outcomes[0];
  }
  Outcome operator()(const Case& program, Findings& findings) const { return (*this)(program, program, findings); }

 private:
  void run(const Case& program, std::uint64_t from, std::uint64_t to, std::vector<Outcome>& outcomes,
           Findings& findings) const {
    on_ranks(program.alone ? 0 : ranks, program.maker, [&](Subject& subject, std::size_t rank, std::size_t world) {
      Outcome& mine = outcomes[rank];
      if (poison) subject.poison();
      if (from > 0) subject.load(file);
      for (std::uint64_t step = from; step < to; ++step) {
        const bool misses = is_short && step == 1 && rank + 1 == world && subject.capacity() > 1;
        const std::size_t samples = subject.capacity() - misses, before = subject.used().operations;
        const StepResult result = subject.step({step, rank, world, subject.batch, samples});
        mine.add(result.loss);
        mine.add(result.gradient_norm);
        mine.add(result.loss_scale);
        mine.add(result.applied);
        findings.expect(!result.applied || (std::isfinite(result.loss) && std::isfinite(result.gradient_norm)),
                        "a loss is not finite");
        if (!misses)
          findings.expect(subject.used().operations - before == subject.planned_operations,
                          "a step does other operations than planned");
      }
      if (to < steps) subject.save(file);
      else mine.add_all(subject.weights().values);
      findings.expect(subject.used().peak <= subject.planned_peak, "a run takes more memory than planned");
      findings.expect(subject.used().peak == subject.planned_peak || !subject.steps_take_most,
                      "a run takes less memory than planned");
    });
  }
};

}  // namespace regimen::random
// SPDX-License-Identifier: Apache-2.0
