// regimen/train/trainer.hpp — Trainer: a model, its policies, and the training loop.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/ranks_of.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/path_text.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/program/check_ids.hpp>
#include <regimen/program/parameters.hpp>
#include <regimen/program/recipe.hpp>
#include <regimen/rule/apply_needs_backward.hpp>
#include <regimen/rule/backward_needs_scaled_loss.hpp>
#include <regimen/rule/communicator_is_given.hpp>
#include <regimen/rule/data_lies_somewhere.hpp>
#include <regimen/rule/fit_has_option.hpp>
#include <regimen/rule/profile_needs_debug.hpp>
#include <regimen/rule/rule_options_stand_inside.hpp>
#include <regimen/rule/scaled_gradients_need_unscale.hpp>
#include <regimen/rule/source_writes_samples.hpp>
#include <regimen/rule/trainer_is_not_copied.hpp>
#include <regimen/state/trainer_state.hpp>
#include <regimen/train/collect.hpp>
#include <regimen/train/fingerprint.hpp>
#include <regimen/train/fit.hpp>
#include <regimen/train/generate.hpp>
#include <regimen/train/mistakes.hpp>
#include <regimen/train/options.hpp>
#include <regimen/train/refused_data.hpp>
#include <regimen/train/replicas.hpp>
#include <regimen/train/result.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/model_rules.hpp>
#include <regimen/verdict/rejected.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen {

namespace train {
template <class Device, bool profiles>
struct engine_of {
  using type = typename Device::type;
};
template <class Device>
struct engine_of<Device, true> {
  using type = typename Device::profiled;
};
}  // namespace train

/// Trains Network with the policies, in any order.
///
///   using Train = Trainer<Gpt, Batch<32>, Optimizer<AdamW>, Precision<bf16, fp32>, Checkpoint<Every<2>>>;
///   Train trainer{{.optimizer = {.learning_rate = 3e-4}}};
///   trainer.fit(Text{"input.txt"}, {.steps = 1000});
///
/// memory    one arena of exactly planned().peak bytes, allocated by the constructor; a step allocates nothing
/// failure   an impossible combination does not compile. At run time: Error. After an exception in a step the
///           Trainer may still be used, or load the last saved file, which is intact. With several ranks an
///           exception ends the run of all ranks
/// threads   one thread at a time may call a Trainer
template <class Network, class... Policies>
class Trainer {
 public:
  using Configuration = Configured<Policies...>;
  using Recipe = train::Recipe<Network, Configuration>;
  using Step = typename Recipe::Step;
  using UpdateRule = typename Recipe::UpdateRule;
  using Options = regimen::Options<UpdateRule>;
  using Input = typename Step::X::Element;        // of a sample: int32 for tokens, fp32 (fp64) for vectors and images
  using Label = typename Step::Labels::Element;   // int32 for classes and tokens
  using Output = typename Step::Output::Element;  // at least fp32
  using Master = typename Step::Master;
  using Reduce = typename Step::Reduce;  // of gradients
  using Device = engine::Of<typename Configuration::device::where>;
  using Engine = typename train::engine_of<Device, Configuration::debug::template uses<Profile>>::type;

  static constexpr std::size_t batch = Recipe::batch;                                         // samples of a micro-batch
  static constexpr std::size_t micro_batches = Recipe::micro_batches;                         // of a step
  static constexpr std::size_t input_size = Step::X::size, target_size = Step::Labels::size;  // per sample
  static constexpr std::size_t output_size = Step::Output::size, output_rows = Step::Output::rows;
  static constexpr bool scales_loss = Configuration::loss_scale::scales;
  template <class Source>
  static constexpr bool serves = rule::source_writes_samples<Source, Input, Label>::holds;

  /// Bytes and work, as a constant.
  static constexpr const MemoryPlan& plan() { return Recipe::plan; }
  /// The same, computed at run time, for any batch and any number of ranks. Throws Error if
  /// Hybrid<N> does not divide the ranks.
  static MemoryPlan plan(std::size_t batch_size, std::size_t ranks = Recipe::planned_ranks) {
    check_groups(ranks);
    return Recipe::make_plan(batch_size, ranks);
  }

  /// A single rank. Throws Error if the environment names other ranks. Refuses a recipe with a Communicator; see below.
  explicit Trainer(const Options& options = {}) : Trainer(std::unique_ptr<comm::Ranks>(), options) {
    static_assert(sizeof(typename rule::communicator_is_given<typename Configuration::communicator, Step::Sharding::alone>::must_hold));
    comm::refuse_other_ranks(comm::world_of_environment());
  }

  /// One of several ranks, each with such a Trainer and equal options. Borrows the communicator, which nobody else may
  /// use during the Trainer's lifetime. Every rank calls the same members in the same order.
  template <comm::Collectives C>
    requires std::is_same_v<comm::transport_t<C>, typename Configuration::communicator::ranks::type>
  explicit Trainer(C& communicator, const Options& options = {})
      : Trainer(std::unique_ptr<comm::Ranks>(std::make_unique<comm::RanksOf<C>>(communicator)), options) {}

  // Errors for mistakes: copies, options one level too high or without names, another
  // communicator. These never construct.
  Trainer(const Trainer&) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename rule::trainer_is_not_copied<Trainer>::must_hold));
  }
  Trainer& operator=(const Trainer&) {
    static_assert(sizeof(typename rule::trainer_is_not_copied<Trainer>::must_hold));
    return *this;
  }
  template <class TheRule = UpdateRule>
  explicit Trainer(const typename TheRule::Options&) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename rule::rule_options_stand_inside<typename TheRule::Options>::must_hold));
  }
  template <class First, class... Others>
    requires(!std::is_convertible_v<First, Options> && !std::is_base_of_v<Trainer, First>)
  explicit Trainer(const First&, const Others&...) : Trainer(std::unique_ptr<comm::Ranks>(), Options{}) {
    static_assert(sizeof(typename train::constructor_mistake<First, typename Configuration::communicator>::type));
  }

 private:
  Trainer(std::unique_ptr<comm::Ranks> ranks, const Options& options)
      : options_(options),
        seed_(options.seed != 0 ? options.seed : Configuration::seed::value),
        ranks_(std::move(ranks)),
        plan_(plan_of(ranks_.get())),
        walk_(batch, ranks_ ? ranks_->size() : 1, ranks_ ? ranks_->rank() : 0,
              engine::Resources<typename Engine::Ranks>{plan_.peak, ranks_.get(), options.threads}) {
    if constexpr (Configuration::world::ranks > 0)
      if (this->ranks() != Configuration::world::ranks)
        throw Error("Trainer", std::to_string(Configuration::world::ranks) + " ranks, as World says", std::to_string(this->ranks()),
                    "start as many, or leave World out");
    train::check_options<Master, UpdateRule>(options_);
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    if constexpr (!Step::Sharding::alone) {
      comm::agree(ranks_.get(), "Trainer", "program, seed and options", train::fingerprint_of<Trainer>(options_, seed_));
      comm::agree_in_words(ranks_.get(), "Trainer", "arithmetic", Engine::template numerics<typename Recipe::Roles::compute>(),
                           "build for one processor (-march), and give all ranks the same libraries");
      hashes_.resize(this->ranks());
    }
    walk_.arena.capacity = plan_.peak;
    walk_.checks_finite = Recipe::checks_finite;
    resident_ = Step::setup(walk_);
    tensors_ = train::list_tensors<typename Recipe::Bound>(rank(), this->ranks());
    if constexpr (Configuration::debug::checks)
      if (rank() == 0) train::announce_debug();
    if (options.verbose && rank() == 0)
      std::fprintf(stderr, "regimen: %s\n", walk_.engine.template description<typename Recipe::Roles::compute>().c_str());
    Scalars scalars{};
    scalars.loss_scale = Recipe::loss_scaling.initial;
    write_scalars(scalars);
    initialise();
    if constexpr (Configuration::debug::template uses<Profile>) walk_.engine.times.clear();
  }

 public:
  /// Ends running collectives before their memory is freed, and finishes a running save, except during stack unwinding.
  ~Trainer() {
    if (saving_ && std::uncaught_exceptions() > exceptions_) saving_->give_up();
    ranks_.reset();
  }

  /// This Trainer's rank, and the number of ranks.
  std::size_t rank() const { return walk_.rank; }
  std::size_t ranks() const { return walk_.ranks; }
  /// The plan for this number of ranks.
  const MemoryPlan& planned() const { return plan_; }
  /// Whether `own` is true on every rank; all ranks call this. For conditions that only some
  /// ranks see (Ctrl-C, a full disk).
  bool on_all_ranks(bool own) {
    bool all = own;
    if constexpr (!Step::Sharding::alone)
      if (ranks() > 1) guarded([&] { all = comm::on_all(*control(), own); });
    return all;
  }

  // ---- training

  /// One optimizer step on `batch · micro_batches` samples, or fewer; the last micro-batch may be short.
  ///   inputs (samples,input_size), targets (samples,target_size)
  StepResult step(std::span<const Input> inputs, std::span<const Label> targets) {
    const std::size_t samples = check_batch(inputs.size(), targets.size(), batch * micro_batches);
    std::size_t done = 0;
    return run_step([&](std::size_t) {
      const std::size_t now = samples - done < batch ? samples - done : batch;
      upload_batch(inputs.subspan(done * input_size, now * input_size), targets.subspan(done * target_size, now * target_size), now, done / batch);
      done += now;
      return now;
    });
  }

  /// Refuses data or labels in another type than the model and its loss read.
  template <class Inputs, class Targets>
    requires(!train::ReadAs<Inputs, Input> || !train::ReadAs<Targets, Label>)
  StepResult step(const Inputs&, const Targets&) {
    static_assert(sizeof(train::refused_sample<Inputs, Input, Targets, Label>));
    return {};
  }

  template <class Inputs, class Targets>
    requires(std::is_arithmetic_v<Inputs> && std::is_arithmetic_v<Targets>)
  StepResult step(std::initializer_list<Inputs>, std::initializer_list<Targets>) {
    static_assert(sizeof(typename rule::data_lies_somewhere<std::initializer_list<Inputs>>::must_hold));
    return {};
  }
  template <class Inputs, class Targets>
    requires std::is_arithmetic_v<Targets>
  StepResult step(const Inputs&, std::initializer_list<Targets>) {
    static_assert(sizeof(typename rule::data_lies_somewhere<std::initializer_list<Targets>>::must_hold));
    return {};
  }

  /// Trains until the end of the run. Calls callbacks with (trainer, StepResult) after every step and with
  /// (trainer, Evaluation) after every evaluation, if they accept these; refuses a callback that accepts neither. If a
  /// callback returns false the run ends, on all ranks.
  template <class Source, class... Callbacks>
  Fitted fit(const Source& source, const FitOptions& run = {}, Callbacks&&... callbacks) {
    static_assert(sizeof(typename rule::source_writes_samples<Source, Input, Label>::must_hold));
    if constexpr (!serves<Source>) return {};
    else {
      static_assert(((sizeof(train::heard_callback<Trainer, Callbacks>) > 0) && ...));
      if constexpr ((train::is_called<Trainer, Callbacks> && ...))
        return train::FitLoop<Trainer>::run(*this, source, static_cast<const Source*>(nullptr), run, callbacks...);
      else return {};
    }
  }
  template <class Source, class Validation, class... Callbacks>
    requires(!std::is_convertible_v<const Validation&, FitOptions>)
  Fitted fit(const Source& source, const Validation& validation, const FitOptions& run = {}, Callbacks&&... callbacks) {
    static_assert(sizeof(typename rule::source_writes_samples<std::conditional_t<serves<Source>, Validation, Source>, Input, Label>::must_hold));
    if constexpr (!serves<Source> || !serves<Validation>) return {};
    else {
      static_assert(((sizeof(train::heard_callback<Trainer, Callbacks>) > 0) && ...));
      if constexpr ((train::is_called<Trainer, Callbacks> && ...)) return train::FitLoop<Trainer>::run(*this, source, &validation, run, callbacks...);
      else return {};
    }
  }

  template <class Source, class... Callbacks>
  Fitted fit(const Source&, const train::MisnamedRun&, Callbacks&&...) {
    static_assert(sizeof(typename rule::fit_has_option<std::conditional_t<serves<Source>, FitOptions, FitOptions>>::must_hold));
    return {};
  }
  template <class Source, class Validation, class... Callbacks>
  Fitted fit(const Source&, const Validation&, const train::MisnamedRun&, Callbacks&&...) {
    static_assert(sizeof(typename rule::fit_has_option<std::conditional_t<serves<Source>, FitOptions, FitOptions>>::must_hold));
    return {};
  }

  /// Loss (and accuracy) over a whole source, in its order: without gradients and dropout.
  template <class Source>
  Evaluation evaluate(const Source& source, std::size_t workers = 1) {
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    Loader<Input, Label, train::Borrowed<Source>> loader({&source}, sample_shape(),
                                                         {batch, Order::Sequential, Remainder::Short, seed_, {}, 1, workers, 2, rank(), ranks()});
    Mode mode(*this, false);
    const Scalars kept = scalars();
    Scalars found{};
    walk_.run(op::Begin{resident_.scalars});
    guarded([&] {
      for (auto next = loader.next(); next; next = loader.next()) {
        upload_batch(next.input, next.target, next.samples, 0);
        Step::evaluate(walk_, resident_);
        uploaded_.wait();
      }
      if constexpr (!Step::Sharding::alone)
        if (ranks() > 1) Step::combine_sums(walk_, resident_);
      found = scalars();
      write_scalars(kept);
      expect_finite(found);
    });
    Evaluation evaluation{mean_of(found.loss_sum, found.count), no_value, static_cast<std::size_t>(found.count)};
    if constexpr (std::is_integral_v<Label>) evaluation.accuracy = mean_of(found.correct, found.count);
    return evaluation;
  }

  /// The model's output for any number of samples.   inputs (samples,input_size)  →  (samples,output_size)
  std::vector<Output> predict(std::span<const Input> inputs) {
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    Mode mode(*this, false);
    if constexpr (Recipe::checks_finite) {
      const Scalars kept = scalars();
      walk_.run(op::Begin{resident_.scalars});
      std::vector<Output> outputs = train::predict_all<Step>(walk_, resident_, inputs, train::vocabulary_of<Network>(), "Trainer::predict");
      const Scalars found = scalars();
      write_scalars(kept);
      expect_finite(found);
      return outputs;
    } else {
      return train::predict_all<Step>(walk_, resident_, inputs, train::vocabulary_of<Network>(), "Trainer::predict");
    }
  }
  /// Refuses data in another type than the model's input: convert them explicitly.
  template <class Data>
    requires(!train::ReadAs<Data, Input>)
  std::vector<Output> predict(const Data&) {
    static_assert(sizeof(train::refused_data<Data, Input>));
    return {};
  }

  /// Generates tokens after a prompt, for causal models of tokens; see generate.hpp. Each token costs a pass over the
  /// window; an Inference, with its cache of keys and values, is far faster.
  std::vector<std::int32_t> generate(std::span<const std::int32_t> prompt, std::size_t count, const Sampling& sampling = {}) {
    return regimen::generate(*this, prompt, count, sampling);
  }

  // ---- a loop written by hand: forward, (scale,) backward, (unscale,) apply

  /// The micro-batches that fit would read from here on, in its order: with them a loop by hand ends with fit's
  /// weights, and continues after load where it was, since apply advances the place in the data that save writes.
  /// Borrows the source, which must outlive the loader.
  template <class Source>
  Loader<Input, Label, train::Borrowed<Source>> batches(const Source& source, const FitOptions& run = {}) {
    batches_by_hand_ = 0;
    batching_ = {};
    if constexpr (serves<Source>)
      if (const std::size_t size = source.size(sample_shape()); size > 0)
        batching_ = {size, batch * ranks(), run.order, run.remainder, run.epochs, place_};
    return {{&source},
            sample_shape(),
            {batch, run.order, run.remainder, mix(seed_, 0xDA7A), place_, run.epochs, run.workers, run.ahead, rank(), ranks()}};
  }

  /// Forward and loss of one micro-batch.
  UnscaledLoss forward(std::span<const Input> inputs, std::span<const Label> targets) {
    const std::size_t samples = check_batch(inputs.size(), targets.size(), batch);
    if (waiting_ != Waiting::forward && waiting_ != Waiting::apply) out_of_order("forward");
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    Scalars before{}, after{};
    guarded([&] {
      if (waiting_ == Waiting::forward) {
        started_ = train::now();
        Step::begin(walk_, resident_);
      }
      before = scalars();
      upload_batch(inputs, targets, samples, hand_batches_);
      output_ = Step::forward(walk_, resident_, hand_batches_ > 0);
      after = scalars();
      expect_finite(after);
      hand_samples_ += samples;
      waiting_ = Waiting::backward;
    });
    return {mean_of(after.loss_sum - before.loss_sum, after.count - before.count), ++ticket_};
  }
  template <class Inputs, class Targets>
    requires(!train::ReadAs<Inputs, Input> || !train::ReadAs<Targets, Label>)
  UnscaledLoss forward(const Inputs&, const Targets&) {
    static_assert(sizeof(train::refused_sample<Inputs, Input, Targets, Label>));
    return {0, 0};
  }
  ScaledLoss scale(const UnscaledLoss& loss) const {
    check_ticket(loss.ticket_, "scale");
    return ScaledLoss{loss.ticket_};
  }
  /// Backward; adds to the gradients of earlier micro-batches of the step.
  ScaledGradients backward(const ScaledLoss& loss) {
    run_backward(loss.ticket_);
    return ScaledGradients{ticket_};
  }
  Gradients backward(const UnscaledLoss& loss) {
    if constexpr (scales_loss) static_assert(sizeof(typename rule::backward_needs_scaled_loss<typename Configuration::loss_scale>::must_hold));
    run_backward(loss.ticket_);
    return Gradients{ticket_};
  }
  Gradients unscale(const ScaledGradients& gradients) const {
    check_ticket(gradients.ticket_, "unscale");
    return Gradients{gradients.ticket_};
  }
  template <class Loss>
    requires(std::is_same_v<Loss, UnscaledLoss> || std::is_same_v<Loss, ScaledLoss>)
  Gradients unscale(const Loss&) const {
    static_assert(sizeof(typename rule::apply_needs_backward<Loss>::must_hold));
    return Gradients{0};
  }
  /// The update, with the gradients of all micro-batches since the last update.
  StepResult apply(const Gradients& gradients) {
    check_ticket(gradients.ticket_, "apply");
    if (waiting_ != Waiting::apply) out_of_order("apply");
    if (ranks() > 1 && hand_batches_ != micro_batches) wrong_count("apply", hand_batches_);
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    StepResult result;
    guarded([&] {
      Step::update(walk_, resident_, Recipe::loss_scaling, Recipe::clip, options_.optimizer);
      compare_weights();
      batches_by_hand_ += hand_batches_;
      if (batching_.knows_data()) place_ = batching_.place(batches_by_hand_);
      result = finish(note_step(hand_samples_));
    });
    return result;
  }
  template <class Scaled>
    requires std::is_same_v<Scaled, ScaledGradients>
  StepResult apply(const Scaled&) {
    static_assert(sizeof(typename rule::scaled_gradients_need_unscale<Scaled>::must_hold));
    return {};
  }
  template <class Loss>
    requires(std::is_same_v<Loss, UnscaledLoss> || std::is_same_v<Loss, ScaledLoss>)
  StepResult apply(const Loss&) {
    static_assert(sizeof(typename rule::apply_needs_backward<Loss>::must_hold));
    return {};
  }

  // ---- state

  /// Name, shape and present values of every parameter, in the order of the model. After writing to the values call
  /// parameters_changed() before any other member. If ranks keep slices, or the engine's memory is not host
  /// memory, the values are a copy on the host, valid until the next call of parameters() or load; otherwise
  /// they are the weights themselves.
  std::vector<NamedParameter<Master>> parameters() {
    std::vector<NamedParameter<Master>> result;
    if (is_sliced() || !Engine::Traits::is_host_memory) host_weights_ = all_weights();
    std::size_t at = 0;
    for (const train::TensorRecord& tensor : tensors_) {
      Master* values = nullptr;
      if constexpr (Engine::Traits::is_host_memory)
        if (!is_sliced()) values = walk_.engine.data(master_view(tensor));
      if (values == nullptr) values = host_weights_.data() + at;
      at += tensor.place.count;
      result.push_back({tensor.name,
                        train::shape_of(tensor.parameter),
                        {values, tensor.place.count},
                        tensor.parameter.role,
                        tensor.place.trains,
                        tensor.parameter.decays()});
    }
    return result;
  }
  /// Name, shape and values of the gradients of all parameters that train, in the order of parameters();
  /// likewise a copy if the engine's memory is not host memory. Stored undivided: value / gradient_divisor() is
  /// the gradient of the mean loss.
  std::vector<NamedParameter<Reduce>> gradients() {
    std::vector<NamedParameter<Reduce>> result;
    if (ranks() > 1) throw Error("Trainer::gradients", "one rank", std::to_string(ranks()), "ask it of a Trainer of one rank on the global batch");
    if (!Engine::Traits::is_host_memory) host_gradients_.resize(Recipe::Bound::layout.trained);
    std::size_t at = 0;
    for (const train::TensorRecord& tensor : tensors_)
      if (tensor.place.trains) {
        std::span<Reduce> values;
        if constexpr (Engine::Traits::is_host_memory) {
          values = {walk_.engine.data(gradient_view(tensor)), tensor.place.count};
        } else {
          values = std::span(host_gradients_).subspan(at, tensor.place.count);
          train::download(walk_, gradient_view(tensor), values);
        }
        at += tensor.place.count;
        result.push_back({tensor.name, train::shape_of(tensor.parameter), values, tensor.parameter.role, true, tensor.parameter.decays()});
      }
    return result;
  }
  /// The number of valid targets since the step began, times all scales of the loss. Valid between backward and apply;
  /// also after a step, unless that step changed a dynamic loss scale.
  double gradient_divisor() {
    const Scalars s = scalars();
    return s.count * Step::scale_of(walk_.capacity, ranks()) * s.loss_scale;
  }

  /// Sets the weights to the values of parameters().
  void parameters_changed() {
    if (!host_weights_.empty()) {
      typename Engine::Fence uploaded{};
      std::size_t at = 0;
      for (const train::TensorRecord& tensor : tensors_) {
        uploaded = train::upload(walk_, master_view(tensor), std::span<const Master>(host_weights_).subspan(at + tensor.first, tensor.count));
        at += tensor.place.count;
      }
      uploaded.wait();
    }
    copies_follow_masters();
  }

  /// Writes weights, optimizer state and all that exact resumption needs into one safetensors file, atomically: a kill
  /// at any moment leaves the previous file whole. Each of several ranks writes its slices to a part beside `path`;
  /// `path` becomes the index of the parts. Any number of ranks, under any Shard, may load it. Move index and parts
  /// together. Removes the parts of older saves to `path`. Only one run at a time may save to a path.
  void save(const std::string& path) {
    finish_saving();
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::save_state(*this, path);
  }
  /// The same on a thread of its own: returns when the state is copied, to host memory outside the plan. If the process
  /// is killed meanwhile, the older state stays. Ranks do not wait for each other; rank 0 puts the state in place when
  /// all parts exist, at most `limit` from now. Finishes an earlier background save first, and throws its errors.
  void save_in_background(const std::string& path, std::chrono::seconds limit = std::chrono::seconds(300)) {
    finish_saving();
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::save_state_in_background(*this, path, limit);
  }
  /// Waits until the state of save_in_background is in place, and throws its errors. All ranks call it.
  void finish_saving() {
    if (saving_) train::finish_saving_state(*this);
  }
  /// The same in one file, for other programs, under any Shard. Rank 0 gathers the whole state in host memory for this.
  void save_whole(const std::string& path) {
    finish_saving();
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::save_whole_state(*this, path);
  }
  /// Reads a file that save wrote (of this or another run of the same model), or weights alone. Then training continues
  /// exactly as it would have, except where policies differ: a static loss scale is not changed by the file. Forgets a
  /// step that has begun by hand.
  void load(const std::string& path) {
    finish_saving();
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::load_state(*this, path);
  }
  /// Forgets a step that has begun by hand: after an exception between forward and apply.
  void abandon() {
    walk_.abandon(resident_.end);
    waiting_ = Waiting::forward;
    hand_batches_ = hand_samples_ = 0;
  }
  /// Reads only the weights of any such file, and starts at step 0 without optimizer state; seed and loss scale stay.
  /// The file may have been saved under other policies; each value is rounded once to the master type.
  void load_weights(const std::string& path) {
    finish_saving();
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    train::load_weights(*this, path);
  }

  /// The memory that the run has used, and the operations that it has run.
  Used used() const { return {walk_.arena.peak, library_, walk_.engine.operations()}; }

  /// With Debug<Profile>: the time of every operation, also in evaluation and prediction; see engine/timed.hpp.
  template <class Debug = typename Configuration::debug>
  OperationTimes& profile() {
    static_assert(sizeof(typename rule::profile_needs_debug<Debug>::must_hold));
    if constexpr (rule::profile_needs_debug<Debug>::holds) return walk_.engine.times;
    else std::abort();
  }

  std::uint64_t steps_done() const { return step_; }
  std::uint64_t seed() const { return seed_; }
  const Options& options() const { return options_; }

  /// The extents of this model's samples, for a data source.
  static constexpr SampleShape sample_shape() {
    return {input_size, target_size, train::vocabulary_of<Network>(), std::is_integral_v<Label> ? Step::Output::columns : 0};
  }

  /// For tests: from now on fills freed memory with NaN.
  void poison_dead_memory() { walk_.poison_dead(); }

 private:
  template <class T>
  friend struct train::StateAccess;
  friend struct train::FitLoop<Trainer>;

  using Collector = train::Collector<Step>;
  static MemoryPlan plan_of([[maybe_unused]] const comm::Control* ranks) {
    if constexpr (!Step::Sharding::alone) {
      if (ranks != nullptr) check_groups(ranks->size());
      if (ranks != nullptr && ranks->size() != Recipe::planned_ranks) return Recipe::make_plan(batch, ranks->size());
    }
    return plan();
  }
  static void check_groups([[maybe_unused]] std::size_t ranks) {
    constexpr std::size_t group = Step::Sharding::group;
    if constexpr (group > 0)
      if (ranks % group != 0)
        throw Error("Trainer", "a multiple of " + std::to_string(group) + " ranks, as Hybrid says", std::to_string(ranks),
                    "start as many, or write Hybrid<N> with an N that divides them");
  }
  enum class Waiting { forward, backward, apply };

  /// Runs body(), a step or other common work of all ranks. After an exception only the persistent regions stay
  /// allocated, and the other ranks get the reason.
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const std::exception& error) {
      give_up(error.what());
      throw;
    } catch (...) {
      give_up("an exception that is no std::exception");
      throw;
    }
  }
  void give_up(const char* reason) {
    if (saving_) saving_->give_up();
    if (ranks_) ranks_->leave(reason);
    abandon();
  }
  struct Mode {
    Mode(Trainer& owner, bool training) : trainer(owner) {
      if (trainer.waiting_ != Waiting::forward) trainer.out_of_order("evaluate or predict");
      trainer.walk_.training = training;
    }
    ~Mode() {
      trainer.walk_.training = true;
      trainer.walk_.abandon(trainer.resident_.end);
    }
    Trainer& trainer;
  };

  /// The control interface of the ranks, after all earlier operations, since both may use one
  /// connection. Null: a single rank.
  comm::Control* control() {
    if (ranks_) walk_.engine.download(0, {}).wait();
    return ranks_.get();
  }
  /// The scalars, after all earlier operations.
  Scalars scalars() {
    Scalars s{};
    train::download(walk_, resident_.scalars, std::span(&s, 1));
    return s;
  }
  void write_scalars(const Scalars& s) { train::upload(walk_, resident_.scalars, std::span(&s, 1)).wait(); }
  /// This rank's elements of a tensor's master weights: tensor.count elements.
  View<Master> master_view(const train::TensorRecord& tensor) const {
    return View<Master>{resident_.parameters + tensor.unit.parameters + tensor.master_offset} + tensor.master;
  }
  /// This rank's elements of an array of the tensor's optimizer state.
  View<Master> state_view(const train::TensorRecord& tensor, std::size_t state) const {
    return View<Master>{resident_.states + tensor.unit.states} + (state * tensor.state_stride + tensor.gradient);
  }
  View<Reduce> gradient_view(const train::TensorRecord& tensor) const {
    return {resident_.gradients + tensor.unit.gradients + tensor.place.gradient * sizeof(Reduce)};
  }
  bool is_sliced() const { return Step::Sharding::slices_state && ranks() > 1; }

  void initialise() {
    ParameterContext context{};
    for (const train::TensorRecord& tensor : tensors_) context.residuals += tensor.ends_branch && tensor.parameter.role == ParameterRole::matrix;
    std::uint64_t index = 0;
    for (const train::TensorRecord& tensor : tensors_) {
      context.ends_branch = tensor.ends_branch;
      const InitialValue value = detail::initial_value<typename Configuration::init::scheme>(tensor.parameter, context);
      const std::uint64_t key = mix(mix(seed_, 0x1417), index++);
      if (tensor.count == 0) continue;
      std::vector<Master> whole(tensor.place.count);
      detail::fill_initial(whole.data(), whole.size(), value, key);
      write(master_view(tensor), std::span<const Master>(whole).subspan(tensor.first, tensor.count));
    }
    copies_follow_masters();
  }
  /// Sets the optimizer state to zero, as all memory is at the start.
  void reset_state() {
    for (const train::TensorRecord& tensor : tensors_)
      if (tensor.place.trains && tensor.count > 0)
        for (std::size_t state = 0; state < tensor.states; ++state) walk_.run(op::Zero<Master>{state_view(tensor, state), tensor.count});
  }
  /// Updates the copies in the compute type from the master weights, on every rank.
  void copies_follow_masters() {
    for (const train::TensorRecord& tensor : tensors_)
      if (!tensor.shares_master && tensor.count > 0)
        train::with_element(tensor.place.element, [&]<class T>(T) {
          const std::size_t values = resident_.parameters + tensor.unit.parameters +
                                     (tensor.value_slice > 0 ? (tensor.place.master - tensor.value_slice) * sizeof(T) : tensor.place.values) +
                                     tensor.first * sizeof(T);
          if constexpr (std::is_same_v<Master, fp64> && sizeof(T) == 2) defect("16-bit weights under fp64 masters");
          else walk_.run(op::Cast<Master, T>{master_view(tensor), {values}, tensor.count});
        });
    if (is_sliced()) Step::template gather_values<false>(walk_, resident_);
  }
  template <class T>
  void write(View<T> at, std::span<const T> values) {
    train::upload(walk_, at, values).wait();
  }
  /// The weights of all ranks, on the host.
  std::vector<Master> all_weights() {
    if constexpr (Step::Sharding::slices_state)
      if (is_sliced()) return Collector::collect(walk_, *control(), resident_, Collector::master_weights);
    std::vector<Master> all(Recipe::Bound::layout.count);
    std::size_t at = 0;
    for (const train::TensorRecord& tensor : tensors_) {
      train::download(walk_, master_view(tensor), std::span(all).subspan(at, tensor.place.count));
      at += tensor.place.count;
    }
    return all;
  }

  static std::size_t check_batch(std::size_t inputs, std::size_t targets, std::size_t limit) {
    const std::size_t samples = inputs / input_size;
    if (inputs == samples * input_size && targets == samples * target_size && samples > 0 && samples <= limit) return samples;
    throw Error(
        "Trainer::step",
        "1 to " + std::to_string(limit) + " samples of " + std::to_string(input_size) + " inputs and " + std::to_string(target_size) + " targets",
        std::to_string(inputs) + " inputs and " + std::to_string(targets) + " targets");
  }

  /// The key of random numbers is the sample's place in the global batch: ordered by micro-batch, then by rank.
  void upload_batch(std::span<const Input> inputs, std::span<const Label> targets, std::size_t samples, std::size_t micro_batch) {
    const std::size_t first = (micro_batch * ranks() + rank()) * batch;
    const std::string where = "step " + std::to_string(step_ + 1);
    train::check_tokens(inputs, input_size, train::vocabulary_of<Network>(), where, first);
    train::check_labels(targets, target_size, Step::Output::columns, where, first);
    uploaded_.wait();  // earlier uploads have been read
    walk_.batch = samples;
    given_.random = {seed_, step_, first};
    given_.learning_rate = options_.optimizer.learning_rate * options_.schedule.share(step_);
    walk_.engine.upload(resident_.scalars.offset, std::as_bytes(std::span(&given_, 1)).first(given_bytes));
    train::upload(walk_, View<Input>{resident_.input}, inputs);
    uploaded_ = train::upload(walk_, View<Label>{resident_.target}, targets);
  }

  /// A started step, which may still be running; its results come later.
  struct Ran {
    std::uint64_t step = 0;
    std::size_t samples = 0;
    double started = 0;
    Scalars scalars{};
    typename Engine::Fence read{};
  };
  /// load(m) uploads micro-batch m and returns its number of samples; 0: no more, at least for this rank.
  template <class Load>
  StepResult run_step(Load&& load) {
    Ran& ran = start_step(load);
    StepResult result;
    guarded([&] { result = finish(ran); });
    return result;
  }
  /// Starts a step; call finish for it before starting the step after the next.
  template <class Load>
  Ran& start_step(Load&& load) {
    if (waiting_ != Waiting::forward) out_of_order("step");
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    started_ = train::now();
    std::size_t samples = 0;
    guarded([&] {
      Step::step(walk_, resident_, Recipe::loss_scaling, Recipe::clip, options_.optimizer, [&](std::size_t micro_batch) {
        const std::size_t now = load(micro_batch);
        samples += now;
        return now > 0 || ranks() > 1;
      });
      compare_weights();
    });
    return note_step(samples);
  }
  /// Every compare_weights_every steps: checks that weights that several ranks keep are equal.
  void compare_weights() {
    using Sharding = typename Step::Sharding;
    if constexpr (!Sharding::alone && (!Sharding::slices_parameters || Sharding::group > 0)) {
      const std::uint64_t every = options_.compare_weights_every;
      if (ranks() == 1 || every == 0 || (step_ + 1) % every != 0) return;
      std::uint64_t own = 0;
      for (const train::TensorRecord& tensor : tensors_) {
        std::size_t begin = master_view(tensor).offset, bytes = tensor.count * sizeof(Master);
        if (Sharding::slices_state && !Sharding::slices_parameters) {  // one rank keeps the master weights, all ranks keep the copies
          begin = resident_.parameters + tensor.unit.parameters + tensor.place.values;
          bytes = tensor.place.count * bytes_of(tensor.place.element);
        }
        own = mix(own, walk_.engine.hash(begin, bytes));
      }
      control()->all_gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(hashes_.data()), sizeof own);
      train::compare_hashes(hashes_, [](std::size_t r) { return Sharding::group == 0 ? 0 : Sharding::slice_of(r); }, step_ + 1);
    }
  }
  Ran& note_step(std::size_t samples) {
    Ran& ran = ran_[step_ % ran_.size()];
    ran.step = ++step_;
    ran.samples = samples;
    ran.started = started_;
    ran.read = walk_.engine.download(resident_.scalars.offset, std::as_writable_bytes(std::span(&ran.scalars, 1)));
    waiting_ = Waiting::forward;
    hand_batches_ = hand_samples_ = 0;
    return ran;
  }
  StepResult finish(Ran& ran) {
    ran.read.wait();
    const Scalars& s = ran.scalars;
    if (s.anomaly.found) step_ = ran.step - 1;
    expect_finite(s);
    if (library_ == 0) library_ = train::grown_beside(walk_.arena.peak, resident_at_start_);
    const double now = train::now(), milliseconds = (now - (std::max)(ran.started, finished_)) * 1e3;
    finished_ = now;
    return {ran.step,
            s.loss,
            s.gradient_norm,
            s.learning_rate,
            s.loss_scale,
            s.apply != 0,
            milliseconds,
            ran.samples * ranks(),
            static_cast<std::size_t>(s.count)};
  }
  static void expect_finite(const Scalars& s) {
    if (!s.anomaly.found) return;
    const std::string element = std::to_string(s.anomaly.element);
    throw Error("step " + std::to_string(s.random.step + 1) + ", " + (s.anomaly.phase == op::Phase::forward ? "output" : "gradient") + " of layer " +
                    s.anomaly.path.text(),
                "finite numbers", (s.anomaly.is_nan ? "a NaN at element " : "an infinity at element ") + element,
                "this is the first layer where one appears; look at its input, its weights and the learning rate");
  }

  void run_backward(std::uint64_t ticket) {
    check_ticket(ticket, "backward");
    if (waiting_ != Waiting::backward) out_of_order("backward");
    if (ranks() > 1 && hand_batches_ >= micro_batches) wrong_count("backward", hand_batches_ + 1);
    [[maybe_unused]] const auto scope = walk_.engine.scope();
    guarded([&] {
      Step::backward(walk_, resident_, output_, hand_batches_);
      ++hand_batches_;
      waiting_ = Waiting::apply;
    });
  }
  void check_ticket(std::uint64_t ticket, const char* what) const {
    if (ticket != ticket_) throw Error(std::string("Trainer::") + what, "the result of the last forward", "the result of an earlier one");
  }
  /// Ranks reduce gradients in the last micro-batch, so all must know the number of micro-batches.
  [[noreturn]] static void wrong_count(const char* what, std::size_t found) {
    throw Error(std::string("Trainer::") + what, std::to_string(micro_batches) + " micro-batches, as Accumulate says", std::to_string(found),
                "call forward and backward that many times, then apply");
  }
  [[noreturn]] static void out_of_order(const char* what) {
    throw Error(std::string("Trainer::") + what, "the order forward, backward, apply", "another order",
                "finish the step that has begun, or call abandon(); several forward-backward pairs may precede one apply");
  }

  Options options_;
  std::uint64_t seed_;
  std::size_t resident_at_start_ = train::resident_bytes();
  std::unique_ptr<comm::Ranks> ranks_;  // null: a single rank
  MemoryPlan plan_;
  walk::Walk<Engine> walk_;
  Scalars given_{};  // the first members: the values that the host writes before a micro-batch
  typename Engine::Fence uploaded_{};
  std::array<Ran, 2> ran_{};
  std::vector<Master> host_weights_;  // the values of the last call of parameters()
  std::vector<Reduce> host_gradients_;
  train::Resident resident_{};
  std::vector<train::TensorRecord> tensors_;
  std::vector<std::uint64_t> hashes_;  // of all ranks' weights, for compare_weights
  std::uint64_t step_ = 0, batches_by_hand_ = 0, ticket_ = 0;
  DataPlace place_{};                                      // in the data that fit reads
  Batching batching_;                                      // of the last call of batches(); batches_by_hand_ of its batches are applied
  double best_ = std::numeric_limits<double>::infinity();  // best loss of fit's evaluations, how many evaluations since, and the step of the last
  std::uint64_t without_gain_ = 0, validated_at_ = train::never;
  bool resumed_ = false, is_patient_ = false;  // whether a file was loaded since the last fit, and had patience
  Waiting waiting_ = Waiting::forward;
  std::size_t output_ = 0, hand_batches_ = 0, hand_samples_ = 0, library_ = 0;
  double started_ = 0, finished_ = 0;
  std::unique_ptr<train::BackgroundSave> saving_;
  int exceptions_ = std::uncaught_exceptions();  // in flight at construction
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
};
}  // namespace detail

/// A recipe that does not compose: each broken rule gives one error, the rest of the program none.
template <class Network, class... Policies>
  requires(!Composable<Network, Policies...>)
class Trainer<Network, Policies...>
    : public detail::rejected<regimen::Options<typename detail::named_rule<AdamW, Policies...>::type>, FitOptions, detail::Answers> {
  using Base = typename Trainer::rejected;
  using Broken = detail::broken_rules<Network, Policies...>;
  static_assert(sizeof(detail::speech<Broken, 0>) && sizeof(detail::speech<Broken, 1>) && sizeof(detail::speech<Broken, 2>));

 public:
  using Base::Base;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
