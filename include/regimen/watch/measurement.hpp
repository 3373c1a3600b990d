// regimen/watch/measurement.hpp — metrics in an evaluation, and in fit.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/philox.hpp>  // mix
#include <regimen/core/shape.hpp>
#include <regimen/programs/forward.hpp>
#include <regimen/trainers/fit_loop.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/watch/metric.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace regimen {
template <class Function>
struct SampleWeighted;  // regimen/loss/sample_weighted.hpp
}  // namespace regimen

namespace regimen::trainers {

/// The targets that metrics see: the targets of the loss. For SampleWeighted: the targets of the inner loss, and their
/// weights.
template <class Loss, class Output>
struct MetricTargets final {
  using Label = typename Loss::template Labels<Output>::Element;
  static constexpr bool are_weighted = false;
};
template <class Function, class Output>
struct MetricTargets<SampleWeighted<Function>, Output> final {
  using Label = typename Function::template Labels<Output>::Element;
  static constexpr bool are_weighted = true;
};

/// Adds the sums of all ranks.
void add_ranks(comm::Control& ranks, std::vector<double>& sums);
/// sum += weight * value, rounded alike whatever the program's flags are.
void add_weighted(double& sum, double weight, double value);

/// Whether a metric can add the batches of a Session.
template <class Session, class M>
struct MetricRule final
    : rule::metric_adds_batches<
          M, typename Session::Step::Output::Element,
          typename MetricTargets<typename Session::Recipe::Loss, typename Session::Step::Output>::Label> {};

/// Metrics see each batch between the model and its loss. fit and evaluate have checked the rules of each metric.
template <class Session, class... Metrics>
class Measurement final {
  using Step = typename Session::Step;
  using Output = typename Step::Output;
  using Element = typename Output::Element;
  using Targets = MetricTargets<typename Session::Recipe::Loss, Output>;
  using Label = typename Targets::Label;
  using Batch = MetricBatch<Element, Label>;
  static constexpr bool is_joined = regimen::detail::is_joined<typename Output::Shape>;

 public:
  Measurement(Session& session, Metrics&... metrics) : metrics_(metrics...) {
    session.guarded([&] { begin(); });
  }

  /// Sets all sums to 0.
  void begin() {
    for_each([&](auto& metric) {
      if constexpr (requires { metric.begin(Output::columns); }) metric.begin(Output::columns);
      else std::fill(metric.sums.begin(), metric.sums.end(), 0.0);
    });
  }

  /// Runs the evaluation of the batch in the input.
  void add(Session& session, const auto& batch) {
    const std::size_t output = Step::predict(session.walk, session.resident);
    see(session, output, batch);
    Step::evaluate_output(session.walk, session.resident, output);
  }
  /// Adds a batch; `output` is the place of its output.
  void see(Session& session, std::size_t output, const auto& batch) {
    Batch of{.outputs = outputs_at(session, output, batch.samples * Output::size), .targets = {}};
    of.samples = batch.samples;
    of.rows = batch.samples * (is_joined ? 1 : Output::rows);
    of.columns = Output::columns;
    if constexpr (Targets::are_weighted) {
      targets_.clear(), weights_.clear();
      for (const auto& sample : batch.target) {
        const auto& targets = sample.template get<0>();
        const auto& weights = sample.template get<1>();
        targets_.insert(targets_.end(), targets.begin(), targets.end());
        weights_.insert(weights_.end(), weights.begin(), weights.end());
      }
      of.targets = targets_;
      of.weights = weights_;
    } else {
      of.targets = batch.target;
    }
    for_each([&](auto& metric) { metric.add(of); });
  }

  /// Adds the sums of all ranks.
  void combine(Session& session) {
    if constexpr (!Session::Sharding::alone)
      if (session.ranks() > 1)
        session.guarded([&] { for_each([&](auto& metric) { add_ranks(*session.control(), metric.sums); }); });
  }
  /// A number that is equal for metrics with equal numbers of sums and equal names; it does not compute a result.
  std::uint64_t fingerprint() {
    std::uint64_t print = sizeof...(Metrics);
    for_each([&](auto& metric) {
      print = Philox::mix(print, metric.sums.size());
      if constexpr (requires { metric.name(); })
        for (const char letter : std::string(metric.name()))
          print = Philox::mix(print, static_cast<unsigned char>(letter));
    });
    return print;
  }
  /// The sums of each, in one order.
  void for_each_sums(const auto& f) {
    for_each([&](auto& metric) { f(metric.sums); });
  }
  /// The results that have names.
  std::vector<MetricValue> values() {
    std::vector<MetricValue> found;
    for_each([&](auto& metric) {
      if constexpr (requires { metric.values(); })
        for (MetricValue& value : metric.values()) found.push_back(std::move(value));
      else if constexpr (requires { metric.name(), metric.value(); })
        found.push_back({std::string(metric.name()), static_cast<double>(metric.value())});
    });
    return found;
  }

 private:
  void for_each(const auto& f) {
    std::apply([&](auto&... metric) { (f(metric), ...); }, metrics_);
  }
  /// The place of the values, if the host can read them there; otherwise a copy of them.
  std::span<const Element> outputs_at(Session& session, std::size_t output, std::size_t count) {
    if constexpr (Session::Engine::Traits::is_host_memory && !is_joined)
      if constexpr (Output::leading == Output::columns) return {session.walk.engine.data(View<Element>{output}), count};
    outputs_.resize(count);
    programs::download_rows<Output>(session.walk, output, std::span(outputs_));
    return outputs_;
  }

  std::tuple<Metrics&...> metrics_;
  std::vector<Element> outputs_;
  std::vector<Label> targets_;
  std::vector<float> weights_;
};

/// Throws Error if two metrics have one name, or if a metric has the name of a number that a history, TensorBoard or a
/// report has anyway. A metric may be called `accuracy`: it is the same number.
[[gnu::cold]] void expect_names(std::vector<std::string> names);

/// The metrics that fit was given, and copies of them for its evaluations. They have the sums of this rank while steps
/// run, and the sums of all ranks from found() to resume(), and after fit.
template <class Session, class... Metrics>
class FitMeasurement final : public FitMetrics {
 public:
  FitMeasurement(Session& session, Metrics&... metrics) : session_(session), training_(session, metrics...) {
    session.guarded([&] {
      std::vector<std::string> names;  // those of values() are known when there are some
      [[maybe_unused]] const auto note = [&](auto& metric) {
        if constexpr (!requires { metric.values(); } && requires { metric.name(), metric.value(); })
          names.emplace_back(metric.name());
      };
      (note(metrics), ...);
      expect_names(std::move(names));
      of_evaluations_.emplace(metrics...);
    });
  }

  /// A number that is equal on all ranks if their metrics have equal names and numbers of sums.
  std::uint64_t fingerprint() {
    std::uint64_t print = 0;
    session_.guarded([&] { print = training_.fingerprint(); });
    return print;
  }
  /// An epoch begins: its first batch will set the sums to zero.
  void begin() override { is_fresh_ = true; }
  /// Adds a micro-batch of a running step; `output` is the place of its output.
  void see(std::size_t output, const auto& batch) {
    if (std::exchange(is_fresh_, false)) training_.begin();
    training_.see(session_, output, batch);
  }
  /// The results of the epoch so far, of all ranks.
  Measured found(const EpochEvent& of, bool ended) override {
    own_.clear();
    training_.for_each_sums([&](const std::vector<double>& sums) { own_.push_back(sums); });
    training_.combine(session_);
    Measured found{.step = session_.position.steps_done, .epoch = of.epoch, .ended = ended, .targets = of.targets};
    session_.guarded([&] { found.values = named_values(training_); });
    return found;
  }
  /// The epoch continues.
  void resume() override {
    auto own = own_.begin();
    training_.for_each_sums([&](std::vector<double>& sums) {
      if (own != own_.end()) sums = std::move(*own++);
    });
    own_.clear();
  }
  /// evaluate(program) evaluates a source, and runs program for each of its batches.
  Evaluation evaluate(const auto& evaluate) {
    return std::apply(
        [&](auto&... metric) {
          Measurement<Session, Metrics...> of(session_, metric...);
          const Evaluation found = evaluate([&](const auto& now) { of.add(session_, now); });
          of.combine(session_);
          session_.guarded([&] { values_ = named_values(of); });
          return found;
        },
        *of_evaluations_);
  }
  /// The results of the last evaluation.
  Measured evaluated(std::uint64_t epoch) const override {
    return {.step = session_.position.steps_done, .epoch = epoch, .evaluation = true, .values = values_};
  }

 private:
  static std::vector<MetricValue> named_values(auto& measurement) {
    std::vector<MetricValue> values = measurement.values();
    std::vector<std::string> names;
    for (const MetricValue& of : values) names.push_back(of.name);
    expect_names(std::move(names));
    return values;
  }

  Session& session_;
  std::optional<std::tuple<Metrics...>> of_evaluations_;  // a copy may throw
  Measurement<Session, Metrics...> training_;
  std::vector<std::vector<double>> own_;
  std::vector<MetricValue> values_;
  bool is_fresh_ = true;
};

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/watch/measurement.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
