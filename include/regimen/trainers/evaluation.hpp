// regimen/trainers/evaluation.hpp — evaluation and prediction with the weights of a Trainer: evaluate, predict,
// generate.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/programs/forward.hpp>
#include <regimen/rule/generate.hpp>
#include <regimen/saves/trainer_state.hpp>  // Inside
#include <regimen/trainers/callback_rules.hpp>
#include <regimen/trainers/feed.hpp>
#include <regimen/trainers/generate.hpp>
#include <regimen/trainers/launches.hpp>
#include <regimen/trainers/refused_data.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regimen::trainers {

/// Evaluates a whole source in its order. program(next) runs the operations that add the loss of the present batch to
/// the scalars.
template <class Session, class Source, class Program>
Evaluation evaluate(Session& session, const Source& source, std::size_t workers, const Program& program) {
  using Step = typename Session::Step;
  [[maybe_unused]] const auto scope = session.walk.engine.scope();
  const LoaderOptions options{.batch = Session::batch,
                              .order = Order::Sequential,
                              .seed = session.seed,
                              .epochs = 1,
                              .workers = workers,
                              .rank = session.rank(),
                              .ranks = session.ranks()};
  Loader<typename Session::Input, typename Session::Label, SourceReference<Source>> loader(
      {&source}, Session::sample_shape(), options);
  const typename Session::Mode mode(session);
  if constexpr (Preparation<Session>::prepares)
    session.guarded([&] { Preparation<Session>::evaluation_of(session, loader.size()); });
  const Scalars kept = session.scalars();
  Scalars found{};
  session.walk.run(op::Begin{session.resident.scalars});
  session.guarded([&] {
    for (auto next = loader.next(); next; next = loader.next()) {
      session.walk.all_are_whole = loader.is_full(loader.step() - 1);
      session.feed.upload(session, typename Session::Batch{next.input, next.target, next.samples});
      program(next);
      session.feed.wait();
    }
    if constexpr (!Step::Sharding::alone)
      if (session.ranks() > 1) Step::combine_sums(session.walk, session.resident);
    found = session.scalars();
    session.write_scalars(kept);
    expect_finite(found);
  });
  Evaluation evaluation{mean_of(found.loss_sum, Step::divisor_of(found.count)), no_value, whole_targets(found.count)};
  if constexpr (Step::template has_accuracy<decltype(session.walk)>)
    evaluation.accuracy = mean_of(found.correct, found.count);
  return evaluation;
}

/// Gives metrics the outputs of an evaluation: include regimen/watch/metrics.hpp.
template <class Session, class... Metrics>
class Measurement;

/// Members of a Trainer, which is Self.
template <class Self>
struct EvaluationAndPrediction {
 private:
  using Session = typename SessionOf<Self>::type;
  using Step = typename Session::Step;
  using Input = typename Session::Input;
  using Label = typename Session::Label;
  using Output = typename Step::Output::Element;

  auto enter(const char* who) { return saves::Inside::session(static_cast<Self&>(*this)).enter(who); }

 public:
  /// Loss (and accuracy) over a whole source, in its order, without gradients and dropout.
  template <class Source>
  Evaluation evaluate(const Source& source, std::size_t workers = 1) {
    static_assert(sizeof(typename rule::source_writes_samples<Source, Input, Label>::must_hold));
    if constexpr (!Self::template serves<Source>) return {};
    else {
      const auto in = enter("Trainer::evaluate");
      Session& session = in.session;
      return trainers::evaluate(session, source, workers,
                                [&](const auto&) { Step::evaluate(session.walk, session.resident); });
    }
  }
  /// Evaluates with metrics, of regimen/watch/metrics.hpp or your own: `Accuracy accuracy; trainer.evaluate(test,
  /// accuracy);`. Each metric sees outputs and targets of all samples of all ranks, and then has its result. All ranks
  /// call this, with metrics of the same types. Needs host memory for a batch of outputs.
  template <class Source, class... Metrics>
    requires(!(std::is_convertible_v<Metrics&, std::size_t> && ...))
  Evaluation evaluate(const Source& source, Metrics&&... metrics) {
    static_assert(sizeof(typename rule::source_writes_samples<Source, Input, Label>::must_hold));
    static_assert(((sizeof(typename RuleOfMetric<Self, Metrics>::must_hold) > 0) && ...));
    if constexpr (!Self::template serves<Source> || !(RuleOfMetric<Self, Metrics>::holds && ...)) return {};
    else {
      const auto in = enter("Trainer::evaluate");
      Session& session = in.session;
      Measurement<Session, std::remove_reference_t<Metrics>...> measurement(session, metrics...);
      const Evaluation found =
          trainers::evaluate(session, source, 1, [&](const auto& now) { measurement.add(session, now); });
      measurement.combine(session);
      return found;
    }
  }

  /// The model's output for any number of samples.   inputs (samples,input_size)  →  (samples,output_size)
  /// With several outputs: all outputs of a sample, then all outputs of the next sample.
  std::vector<Output> predict(std::span<const Input> inputs) {
    const auto in = enter("Trainer::predict");
    Session& session = in.session;
    const typename Session::Mode mode(session);
    constexpr bool checks = Session::Recipe::checks_finite;
    [[maybe_unused]] const Scalars kept = checks ? session.scalars() : Scalars{};
    if constexpr (checks) session.walk.run(op::Begin{session.resident.scalars});
    auto outputs =
        programs::predict_all<Step>(session.walk, session.resident, inputs, Session::vocabulary, "Trainer::predict");
    if constexpr (checks) {
      const Scalars found = session.scalars();
      session.write_scalars(kept);
      expect_finite(found);
    }
    return outputs;
  }
  /// Refuses data in another type than the model's input: convert them explicitly.
  template <class Data>
    requires(!ReadAs<Data, Input>)
  std::vector<Output> predict(const Data&) {
    static_assert(sizeof(refused_data<Data, Input>));
    return {};
  }

  /// Generates tokens after a prompt, for causal models of tokens; see generate.hpp. Each token costs a pass over the
  /// window. An Inference is far faster, since it has a cache of keys and values.
  template <class Of = Self>
  std::vector<std::int32_t> generate(std::span<const std::int32_t> prompt, std::size_t count,
                                     const Sampling& sampling = {}) {
    return regimen::generate<Of>(static_cast<Of&>(*this), prompt, count, sampling);
  }
  /// Generates the target of a source, for models of two texts.
  template <class Of = Self>
  std::vector<std::int32_t> generate(std::span<const std::int32_t> source, std::span<const std::int32_t> prompt,
                                     std::size_t count, const Sampling& sampling = {}) {
    return regimen::generate<Of>(static_cast<Of&>(*this), source, prompt, count, sampling);
  }
  /// Refuses characters.
  template <class Prompt>
    requires std::is_convertible_v<const Prompt&, std::string_view>
  std::vector<std::int32_t> generate(const Prompt&, std::size_t = 0, const Sampling& = {}) {
    static_assert(sizeof(typename rule::generate_reads_tokens<Prompt>::must_hold));
    return {};
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
