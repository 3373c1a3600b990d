// regimen/trainers/trainer.hpp — Trainer: a model, its policies, and the training loop.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/ranks_of.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/data/rules.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/model_rules.hpp>
#include <regimen/rule/plan_range.hpp>
#include <regimen/rule/rejected.hpp>
#include <regimen/rule/run_options.hpp>
#include <regimen/rule/trainers.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/evaluation.hpp>
#include <regimen/trainers/fit.hpp>
#include <regimen/trainers/loop_by_hand.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/refused_calls.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>
#include <regimen/trainers/weights_and_state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

template <class Network, class... Policies>
class Trainer;

namespace trainers {
template <class Network, class... Policies>
struct SessionOf<Trainer<Network, Policies...>> {
  using Configuration = ConfigurationOf<Policies...>;
  using type = Session<programs::Recipe<Network, Configuration>, Configuration>;
};
}  // namespace trainers

/// Trains Network with the policies, in any order.
///
///   using Train = Trainer<Gpt, Batch<32>, Optimizer<AdamW>, Precision<bf16, fp32>, Checkpoint<Every<2>>>;
///   Train trainer{{.optimizer = {.learning_rate = 3e-4}}};
///   trainer.fit(Text{"input.txt"}, {.steps = 1000});
///
/// loop      trainers/fit_loop.ipp (FitLoop, run), trainers/fit.hpp (FitOf)
/// step      programs/step.hpp (forward, backward, update, step), trainers/session.hpp (start_step)
/// by hand   trainers/loop_by_hand.hpp (batches, forward, scale, backward, unscale, apply, abandon)
/// outputs   trainers/evaluation.hpp (evaluate, predict, generate)
/// state     trainers/weights_and_state.hpp (parameters, gradients, save, with_average, load, load_weights)
/// memory    one arena of exactly planned().peak bytes, allocated by the constructor; a step allocates nothing
/// failure   an impossible combination does not compile. At run time: Error. After an exception in a step you may go on
///           with the Trainer, or load the last saved file, which is intact. With several ranks an exception ends the
///           run of all ranks
/// threads   one thread at a time may call a Trainer; a second one gets an Error
///
/// `template class Trainer<...>;` and `extern template class Trainer<...>;` compile: members that refuse a model are
/// templates. Members of the public bases are compiled where they are called.
template <class Network, class... Policies>
class Trainer : public trainers::EvaluationAndPrediction<Trainer<Network, Policies...>>,
                public trainers::LoopByHand<Trainer<Network, Policies...>>,
                public trainers::WeightsAndState<Trainer<Network, Policies...>>,
                trainers::RefusedCalls<Trainer<Network, Policies...>> {
  using Refused = trainers::RefusedCalls<Trainer>;
  static constexpr bool is_alone = ConfigurationOf<Policies...>::communicator::ranks::is_alone;

 public:
  using Configuration = ConfigurationOf<Policies...>;
  using Recipe = programs::Recipe<Network, Configuration>;
  using Step = typename Recipe::Step;
  using Schedule =
      typename Recipe::Schedule;  // the Checkpoint<...>; under Budget<Bytes> the one that the compiler chose
  using UpdateRule = typename Recipe::UpdateRule;
  using Options = regimen::Options<UpdateRule>;
  using Input = typename Step::X::Element;        // of a sample: int32 for tokens, fp32 (fp64) for vectors and images;
                                                  // a Bundled struct for a Bundle
  using Label = typename Step::Labels::Element;   // int32 for classes and tokens; a Bundled struct for SumOf
  using Output = typename Step::Output::Element;  // at least fp32
  using Master = typename Step::Master;
  using Reduce = typename Step::Reduce;  // of gradients
  using Session = typename trainers::SessionOf<Trainer>::type;
  using Engine = typename Session::Engine;

  static constexpr std::size_t batch = Recipe::batch;                  // samples of a micro-batch
  static constexpr std::size_t micro_batches = Recipe::micro_batches;  // of a step
  static constexpr std::size_t input_size = Step::X::size, target_size = Step::Labels::size;  // per sample
  static constexpr std::size_t output_size = Step::Output::size, output_rows = Step::Output::rows;
  static constexpr bool scales_loss = Configuration::loss_scale::scales;
  template <class Source>
  static constexpr bool serves = rule::source_writes_samples<Source, Input, Label>::holds;

  /// Bytes and work of a step, as a constant.
  static constexpr const MemoryPlan& plan() { return Recipe::plan; }
  /// The plan for any batch and any number of ranks from 1 on, computed at run time. Throws Error if Hybrid<N> does not
  /// divide the ranks, or if the number of bytes overflows.
  static MemoryPlan plan(std::size_t batch_size, std::size_t ranks = Recipe::planned_ranks) {
    rule::check_plan<Network, Configuration>("Trainer::plan", batch_size, ranks);
    trainers::check_groups(Session::Sharding::group, ranks);
    return Recipe::make_plan(batch_size, ranks);
  }

  /// A single rank. Throws Error if the environment names other ranks. A recipe with a Communicator needs the
  /// constructor below that takes one.
  template <class Given = typename Configuration::communicator>
  explicit Trainer() : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename rule::communicator_is_given<Given>::must_hold));
    comm::refuse_other_ranks(comm::world_of_environment());
  }
  explicit Trainer(const Options& options)
    requires(is_alone)
      : Trainer(std::unique_ptr<comm::Ranks>(), options) {
    comm::refuse_other_ranks(comm::world_of_environment());
  }
  template <class Missing = typename Configuration::communicator>
    requires(!is_alone)
  explicit Trainer(const Options&) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename rule::communicator_is_given<Missing>::must_hold));
  }

  /// One of several ranks, each with a Trainer of the same type and equal options. Borrows the communicator: use it for
  /// nothing else during the Trainer's lifetime. Every rank calls the same members in the same order.
  template <comm::Collectives C>
    requires is_given_for<C, typename Configuration::communicator::ranks>
  explicit Trainer(C& communicator, const Options& options = {})
      : Trainer(std::unique_ptr<comm::Ranks>(std::make_unique<comm::RanksOf<C>>(communicator)), options) {}

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Errors for mistakes: copies and moves, options one level too high or without names, another communicator. These
  // never construct. The next two templates match better than the deleted copies unless the source is const; for a
  // const source, and for std::is_copy_constructible, C++20 leaves no room for a sentence. It cannot tell
  // std::is_move_constructible from a move, so that trait is true.
  template <class Other>
    requires std::is_same_v<std::remove_reference_t<Other>, Trainer>
  Trainer(Other&&) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename rule::trainer_is_not_copied<Trainer, Other>::must_hold));
  }
  template <class Other>
    requires std::is_same_v<std::remove_reference_t<Other>, Trainer>
  Trainer& operator=(Other&&) {
    static_assert(sizeof(typename rule::trainer_is_not_copied<Trainer, Other>::must_hold));
    return *this;
  }
  template <class TheRule = UpdateRule>
    requires(is_alone)
  explicit Trainer(const typename TheRule::Options&) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename rule::rule_options_stand_inside<typename TheRule::Options>::must_hold));
  }
  template <class First, class... Others>
    requires(!std::is_convertible_v<First, Options> && !std::is_base_of_v<Trainer, First>)
  explicit Trainer(const First&, const Others&...) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(trainers::constructor_mistake<First, typename Configuration::communicator>));
  }

  /// This Trainer's rank, and the number of ranks.
  std::size_t rank() const { return session_.rank(); }
  std::size_t ranks() const { return session_.ranks(); }
  /// The plan for this number of ranks.
  const MemoryPlan& planned() const& { return session_.memory.plan; }
  MemoryPlan planned() const&& { return planned(); }
  /// Whether `own` is true on every rank. All ranks call this. For conditions that only some ranks see (Ctrl-C, a full
  /// disk).
  bool on_all_ranks(bool own) {
    bool all = own;
    const auto inside = session_.enter("Trainer::on_all_ranks");
    if constexpr (!Step::Sharding::alone)
      if (ranks() > 1) session_.guarded([&] { all = comm::on_all(*session_.control(), own); });
    return all;
  }

  // ---- training

  /// One optimizer step on `batch · micro_batches` samples, or fewer; the last micro-batch may be short.
  ///   inputs (samples,input_size), targets (samples,target_size)
  StepResult step(std::span<const Input> inputs, std::span<const Label> targets) {
    const auto inside = session_.enter("Trainer::step");
    const std::size_t samples =
        trainers::check_batch<Session>("Trainer::step", inputs.size(), targets.size(), batch * micro_batches);
    std::size_t done = 0;
    return session_.run_step([&](std::size_t) {
      const std::size_t now = samples - done < batch ? samples - done : batch;
      session_.agree_on_whole(now == batch);
      session_.feed.give(
          session_, typename Session::Batch{inputs.subspan(done * input_size, now * input_size),
                                            targets.subspan(done * target_size, now * target_size), now, done / batch});
      done += now;
      return now;
    });
  }
  using Refused::step;

  /// Trains until the end of the run. Calls each callback with the events that it accepts, and refuses a callback that
  /// accepts none:
  ///
  ///   (trainer, StepResult)     after every step
  ///   (trainer, EpochEvent)     before the first step of an epoch, and after its last step
  ///   (trainer, Evaluation)     after every evaluation
  ///   (trainer, Fitted)         at the end
  ///   (trainer, std::span<const StepResult>)   under Steps<K> with K > 1, in place of StepResult: after every launch,
  ///                                            with the results of K steps, or of one. If a callback hears epochs, a
  ///                                            launch has steps of one epoch only
  ///
  /// At one moment callbacks hear first the step, then the end of its epoch, then an evaluation. If a callback returns
  /// false, the run ends on all ranks. If a callback throws, fit throws its exception, and on all other ranks an error
  /// with the names of the rank and the callback.
  ///
  /// Metrics may stand among the callbacks: `trainer.fit(data, test, {.epochs = 3}, Accuracy{}, history)`. They measure
  /// the outputs of the steps themselves; copies of them measure every evaluation. Callbacks hear the results as
  /// Measured. Metrics do not change the bits of the training, and use no memory of the plan. With metrics the host
  /// reads the output of every micro-batch. A GPU copies it to the host's memory; then a step is not one graph, and
  /// under Steps<K> K steps are not one launch.
  template <class Source, class... Callbacks>
  Fitted fit(const Source& source, const FitOptions& run = {}, Callbacks&&... callbacks) {
    static_assert(sizeof(typename rule::source_writes_samples<Source, Input, Label>::must_hold));
    if constexpr (!serves<Source>) return {};
    else {
      constexpr bool measures = (trainers::is_metric<Callbacks> || ...);
      static_assert(((sizeof(trainers::heard_callback<Trainer, Callbacks, measures>) > 0) && ...));
      if constexpr ((trainers::may_call<Trainer, Callbacks, measures> && ...))
        return trainers::fit(*this, source, static_cast<const Source*>(nullptr), run, callbacks...);
      else return {};
    }
  }
  template <class Source, class Validation, class... Callbacks>
    requires(!std::is_convertible_v<const Validation&, FitOptions>)
  Fitted fit(const Source& source, const Validation& validation, const FitOptions& run = {}, Callbacks&&... callbacks) {
    static_assert(sizeof(typename rule::source_writes_samples<std::conditional_t<serves<Source>, Validation, Source>,
                                                              Input, Label>::must_hold));
    if constexpr (!serves<Source> || !serves<Validation>) return {};
    else {
      constexpr bool measures = (trainers::is_metric<Callbacks> || ...);
      static_assert(((sizeof(trainers::heard_callback<Trainer, Callbacks, measures>) > 0) && ...));
      if constexpr ((trainers::may_call<Trainer, Callbacks, measures> && ...))
        return trainers::fit(*this, source, &validation, run, callbacks...);
      else return {};
    }
  }

  using Refused::fit;

  /// The memory that the run has used, and the number of its operations.
  Used used() const {
    const auto inside = trainers::enter_trainer(session_.one, "Trainer::used");
    return {session_.walk.arena.peak, session_.library_bytes(), session_.walk.engine.operations(),
            session_.walk.host.peak};
  }

  /// With Debug<Profile>: the time of every operation, also in evaluation and prediction; see engine/timed.hpp. Read it
  /// in the thread that trains.
  template <class Debug = typename Configuration::debug>
  OperationTimes& profile() & {
    static_assert(sizeof(typename rule::profile_needs_debug<Debug>::must_hold));
    const auto inside = session_.enter("Trainer::profile");
    if constexpr (rule::profile_needs_debug<Debug>::holds) return session_.walk.engine.times;
    else std::abort();
  }
  template <class Self = Trainer>
  OperationTimes& profile() && {
    static_assert(sizeof(typename rule::borrows_no_temporary<Self>::must_hold));
    std::abort();
  }

  std::uint64_t steps_done() const {
    const auto inside = trainers::enter_trainer(session_.one, "Trainer::steps_done");
    return session_.position.steps_done;
  }
  std::uint64_t seed() const { return session_.seed; }
  const Options& options() const& { return session_.options; }
  Options options() const&& { return options(); }

  /// The extents of this model's samples, for a data source.
  static constexpr SampleShape sample_shape() { return Session::sample_shape(); }

  /// For tests: from now on fills freed memory with NaN.
  void poison_dead_memory() { session_.walk.poison_dead(); }

 private:
  friend struct saves::Inside;

  Trainer(std::unique_ptr<comm::Ranks> ranks, const Options& options) : session_(std::move(ranks), options) {
    static_assert(
        sizeof(typename rule::device_runs_here<typename Configuration::device, engines::runs_here<Engine>>::must_hold));
  }

  Session session_;
};

/// For `Trainer t(model)`: gives the rule's error in place of a failed deduction.
template <class First, class... Others>
Trainer(const First&, const Others&...) -> Trainer<First>;

namespace detail {
/// The result types of a Trainer's members that do not depend on its policies.
struct Answers {
  using Step = StepResult;
  using Fitted = regimen::Fitted;
  using Evaluation = regimen::Evaluation;
  using Used = regimen::Used;
  using Plan = MemoryPlan;
  using Parameters = std::vector<NamedParameter<float>>;
  using Prediction = std::vector<float>;
  using Tokens = std::vector<std::int32_t>;
  using Sampling = regimen::Sampling;
  using Shape = SampleShape;
  using Profile = OperationTimes;
};
}  // namespace detail

/// A recipe that does not compose: each broken rule gives one error; the rest of the program gives none.
template <class Network, class... Policies>
  requires(!Composable<Network, Policies...>)
class Trainer<Network, Policies...>
    : public detail::rejected<regimen::Options<typename detail::named_rule<AdamW, Policies...>::type>, FitOptions,
                              detail::Answers> {
  using Base = typename Trainer::rejected;
  using Broken = detail::broken_rules<Network, Policies...>;
  static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) &&
                sizeof(detail::speech<Broken, 2>));
  [[no_unique_address]] detail::unlinked<Broken> unlinked_{};

 public:
  using Base::Base;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
