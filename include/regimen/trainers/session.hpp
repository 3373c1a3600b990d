// regimen/trainers/session.hpp — the inside of a Trainer: the engine and its arena, the ranks, the place of the run, its
// steps.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/ranks_of.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/one_thread.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/programs/check_ids.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/saves/background_save.hpp>
#include <regimen/saves/patience.hpp>
#include <regimen/trainers/collect.hpp>
#include <regimen/trainers/expect.hpp>
#include <regimen/trainers/fingerprint.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/pinned_batches.hpp>
#include <regimen/trainers/preparation.hpp>
#include <regimen/trainers/progress.hpp>
#include <regimen/trainers/replicas.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/weights.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::trainers {

template <class Device, bool profiles>
struct engine_of {
  using type = typename Device::type;
};
template <class Device>
struct engine_of<Device, true> {
  using type = typename Device::profiled;
};

/// The inside of a Trainer. `fit`, the loop by hand, evaluation and saved state work on it; a program cannot reach it.
///
/// Recipe_          of the network, bound to Configuration_
/// thread safety    none: one thread at a time, which `enter` sees to in every member of a Trainer
template <class Recipe_, class Configuration_>
struct Session final {
  using Recipe = Recipe_;
  using Configuration = Configuration_;
  using Step = typename Recipe::Step;
  using Sharding = typename Step::Sharding;
  using UpdateRule = typename Recipe::UpdateRule;
  using Options = regimen::Options<UpdateRule>;
  using Input = typename Step::X::Element;
  using Label = typename Step::Labels::Element;
  using Master = typename Step::Master;
  using Reduce = typename Step::Reduce;
  using Device = engines::OfConfiguration<Configuration>;
  using Engine = typename engine_of<Device, Configuration::debug::template uses<Profile>>::type;
  using Collector = trainers::Collector<Step>;

  static constexpr std::size_t batch = Recipe::batch, micro_batches = Recipe::micro_batches;
  static constexpr std::size_t steps = Recipe::steps;  // of a launch
  static constexpr std::size_t input_size = Step::X::size, target_size = Step::Labels::size;
  static constexpr auto vocabulary = rule::vocabulary_of<typename Recipe::Network>();
  static constexpr bool waits =
      Configuration::debug::template uses<Profile> || Configuration::debug::template uses<Synchronous>;

  /// Started steps, which may still be running; their results come later.
  struct Ran {
    std::uint64_t last = 0;  // the number of the last step
    std::size_t count = 0, samples = 0;
    DataPlace place{};               // where they began to read
    double started = 0, waited = 0;  // seconds; for data
    std::array<Scalars, steps> scalars{};
    typename Engine::Fence read{};
  };
  /// Micro-batches of the step that a loop by hand has begun.
  struct ByHand {
    std::size_t output = 0, batches = 0, samples = 0;
  };

  mutable OneThread one{};
  Options options;
  std::uint64_t seed;
  std::size_t resident_at_start = resident_bytes();
  std::unique_ptr<comm::Ranks> all_ranks;  // null: a single rank
  MemoryPlan plan;
  walk::Walk<Engine> walk;
  Scalars given{};  // the first members: the values that the host writes before a micro-batch
  typename Engine::Fence uploaded{};
  Ran ran[2]{};                                     // the newest, and the one before it
  std::array<StepResult, steps> results{};          // of the last `finish`
  std::unique_ptr<PinnedBatchesOf<Engine>> pinned;  // null: the engine copies from any memory
  std::uint64_t fed = 0;                            // micro-batches that went to the ring
  bool ring_differs = false;                        // the device may have taken fewer
  std::vector<Master> host_weights;                 // of the last call of Trainer::parameters
  std::vector<Reduce> host_gradients;
  programs::Resident resident{};
  std::vector<programs::TensorRecord> tensors;
  std::vector<std::uint64_t> hashes;  // of all ranks' weights, for compare_weights
  std::uint64_t steps_done = 0, batches_by_hand = 0, ticket = 0;
  FitOptions run{};       // of the last call of fit
  bool fits = false;      // a callback of fit may be running
  bool has_left = false;  // the other ranks know that this one has failed
  DataPlace place{};      // in the data that fit reads
  Batching batching;      // of the last call of Trainer::batches; batches_by_hand of its batches are applied
  saves::Patience patience;
  Preparation preparation;
  Waiting waiting = Waiting::forward;
  ByHand by_hand;
  std::size_t library = 0, launches = 0;
  double started = 0, finished = 0, waited = 0;  // waited: of the step that begins, for data
  std::unique_ptr<saves::BackgroundSave> saving;
  double evaluated = no_value;                  // the loss of the evaluation for which a state is saved; else NaN
  int exceptions = std::uncaught_exceptions();  // in flight at construction

  [[gnu::noinline]] Session(std::unique_ptr<comm::Ranks> given_ranks, const Options& given_options)
      : options(given_options),
        seed(options.seed != 0 ? options.seed : Configuration::seed::value),
        all_ranks(std::move(given_ranks)),
        plan(engines::with_room<Engine>(plan_of(all_ranks.get()), all_ranks.get())),
        walk(batch, all_ranks ? all_ranks->size() : 1, all_ranks ? all_ranks->rank() : 0,
             engines::Resources<typename Engine::Ranks>{plan.peak, all_ranks.get(), options.threads,
                                                        Configuration::graph::captures && !waits, waits, plan.host}) {
    if constexpr (Configuration::world::ranks > 0)
      if (ranks() != Configuration::world::ranks)
        throw Error("Trainer", std::to_string(Configuration::world::ranks) + " ranks, as World says",
                    std::to_string(ranks()), "start that many, or leave World out");
    check_options<Master, UpdateRule>(options);
    programs::check_decay<typename Recipe::Bound, UpdateRule>(options.optimizer);
    [[maybe_unused]] const auto scope = walk.engine.scope();
    if constexpr (!Sharding::alone) {
      comm::agree(all_ranks.get(), "Trainer", "program, seed and options", fingerprint_of<Session>(options, seed));
      comm::agree_in_words(all_ranks.get(), "Trainer", "arithmetic",
                           Engine::template numerics<typename Recipe::Roles::computed>(),
                           "build for one processor (-march), and give all ranks the same libraries");
      hashes.resize(ranks());
    }
    walk.arena.capacity = plan.peak;
    walk.checks_finite = Recipe::checks_finite;
    resident = Step::setup(walk);
    if constexpr (engines::PinsInputs<Engine>)
      pinned = std::make_unique<PinnedBatches<Engine>>(walk.engine, resident.ring);
    preparation.step(*this, batch);
    preparation.evaluation(*this, batch);
    tensors = programs::list_tensors<typename Recipe::Bound>(rank(), ranks());
    if (Configuration::debug::checks && rank() == 0) announce_debug();
    if (options.verbose && (rank() == 0 || connects_gpus<typename Configuration::communicator::ranks>))
      announce_engine(rank(), ranks(), walk.engine.template description<typename Recipe::Roles::computed>());
    Scalars scalars{};
    scalars.loss_scale = Recipe::loss_scaling.initial;
    write_scalars(scalars);
    Weights<Session>::initialise(*this);
    if constexpr (Configuration::debug::template uses<Profile>) walk.engine.times.clear();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Ends running collectives before their memory is freed, and finishes a running save, except during stack unwinding.
  ~Session() {
    if (saving && std::uncaught_exceptions() > exceptions) saving->give_up();
    if constexpr (requires { walk.engine.leave_ranks(); }) walk.engine.leave_ranks();
    all_ranks.reset();
  }

  /// Held while a member of the Trainer runs.   failure   Error, if another thread is in one
  [[nodiscard]] OneThread::Scope enter(const char* who) const {
    return {one, [who](OneThread::Admission) {
              refuse_second_thread(
                  who, "Trainer",
                  "let one thread call it; for predictions give each other thread an Inference of a saved state");
            }};
  }
  /// Memory beside the arena: of a device, as it says now.
  std::size_t library_bytes() const {
    [[maybe_unused]] const auto scope = walk.engine.scope();
    if constexpr (requires { walk.engine.library_bytes(); }) return walk.engine.library_bytes();
    else return library;
  }
  /// Where the batches of fit's loader lie; null: in memory of its own.
  data::BatchMemory* batch_memory() {
    if constexpr (engines::PinsInputs<Engine>) return pinned.get();
    else return nullptr;
  }
  std::size_t rank() const { return walk.rank; }
  std::size_t ranks() const { return walk.ranks; }
  bool is_sliced() const { return Sharding::slices_state && ranks() > 1; }
  /// The control interface of the ranks, after all earlier operations, since both may use one connection. Null: a
  /// single rank.
  comm::Control* control() {
    if (all_ranks) walk.engine.download(0, {}).wait();
    return all_ranks.get();
  }

  // ---- the contents of the arena

  /// The scalars, after all earlier operations.
  Scalars scalars() {
    Scalars s{};
    programs::download(walk, resident.scalars, std::span(&s, 1));
    return s;
  }
  void write_scalars(const Scalars& s) { programs::upload(walk, resident.scalars, std::span(&s, 1)).wait(); }
  template <class T>
  void write(View<T> at, std::span<const T> values) {
    programs::upload(walk, at, values).wait();
  }
  /// This rank's elements of a tensor's master weights: tensor.count elements.
  View<Master> master_view(const programs::TensorRecord& tensor) const {
    return View<Master>{resident.parameters + tensor.unit.parameters + tensor.master_offset} + tensor.master;
  }
  /// This rank's elements of an array of the tensor's optimizer state.
  View<Master> state_view(const programs::TensorRecord& tensor, std::size_t state) const {
    return View<Master>{resident.states + tensor.unit.states} + (state * tensor.state_stride + tensor.gradient);
  }
  static const char* name_of_state(std::size_t group, std::size_t state) {
    return programs::state_name_of<UpdateRule>(group, state);
  }
  View<Reduce> gradient_view(const programs::TensorRecord& tensor) const {
    return {resident.gradients + tensor.unit.gradients + tensor.place.gradient * sizeof(Reduce)};
  }

  void reset_state() { Weights<Session>::reset_state(*this); }
  void update_copies() { Weights<Session>::update_copies(*this); }

  // ---- exceptions

  /// Runs body(), a step or other common work of all ranks. After an exception only the persistent regions stay
  /// allocated, and the other ranks get the reason.
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      give_up(regimen::detail::words_of(std::current_exception()));
      throw;
    }
  }
  [[gnu::cold]] void give_up(const std::string& reason) {
    if (saving) saving->give_up();
    if (all_ranks && !std::exchange(has_left, true)) all_ranks->leave(reason);
    try {
      if constexpr (requires { walk.engine.abort_ranks(); }) walk.engine.abort_ranks();
      abandon();
    } catch (const Error&) {  // of a lost device; the first error says why
    }
  }
  void abandon() {
    walk.abandon(resident.end);
    waiting = Waiting::forward;
    by_hand = {};
    ring_differs = fed > 0;
  }
  bool is_between_steps() const { return waiting == Waiting::forward; }
  bool is_in_average() const { return waiting == Waiting::average; }
  /// fit reads on where it is, and counts what it has seen: neither follows a state that changes under it.
  void expect_no_fit(const char* who) const {
    if (waiting == Waiting::average) in_average(who);
    if (fits)
      throw Error(who, "a call outside of fit", "one in a callback of fit",
                  "let the callback return false, which ends fit, and call it then");
  }
  /// Sets the walk to evaluation or prediction for the lifetime of this object.
  struct Mode {
    explicit Mode(Session& of) : session(of) {
      if (!session.is_between_steps() && session.waiting != Waiting::average)
        out_of_order(session.waiting, "evaluate or predict");
      session.walk.training = false;
    }
    ~Mode() {
      session.walk.training = true;
      session.walk.abandon(session.resident.end);
    }
    Session& session;
  };

  // ---- a step

  /// Checks a micro-batch of the step that comes `ahead` steps after the next one, and what the host gives besides.
  void prepare_batch(std::span<const Input> inputs, std::span<const Label> targets, std::size_t samples,
                     std::size_t micro_batch, std::size_t ahead) {
    // The key of random numbers is the sample's place in the global batch: ordered by micro-batch, then by rank.
    const std::size_t first = (micro_batch * ranks() + rank()) * batch;
    const std::uint64_t step = steps_done + ahead;
    const std::string where = "step " + std::to_string(step + 1);
    programs::check_tokens(inputs, input_size, vocabulary, where, first);
    programs::check_labels(targets, target_size, Step::classes, where, first);
    uploaded.wait();  // earlier uploads have been read
    walk.batch = samples;
    given.random = {seed, step, first};
    given.learning_rate = options.optimizer.learning_rate * options.schedule.share(step);
    if (walk.training)
      check_rate<Master>(programs::GroupsOf<UpdateRule>::rate(options.optimizer, options.schedule.share(step), step),
                         step + 1);
  }
  /// Copies a micro-batch to the input, for operations that run from now on.
  void upload_batch(std::span<const Input> inputs, std::span<const Label> targets, std::size_t samples,
                    std::size_t micro_batch) {
    prepare_batch(inputs, targets, samples, micro_batch, 0);
    walk.engine.upload(resident.scalars.offset, std::as_bytes(std::span(&given, 1)).first(given_bytes));
    programs::upload(walk, View<Input>{resident.input}, inputs);
    uploaded = programs::upload(walk, View<Label>{resident.target}, targets);
  }
  /// Where no Batching says whether all ranks have a whole micro-batch, they say it themselves.
  void agree_on_whole([[maybe_unused]] bool own) {
    if constexpr (!Sharding::alone && Engine::Traits::has_graphs) {
      if (ranks() > 1) walk.engine.host_waits_elsewhere();
      walk.all_are_whole = ranks() == 1 || comm::on_all(*all_ranks, own);
    }
  }
  /// The same for fit and step: to the ring, if there is one. A single rank takes no empty micro-batch from it.
  void give_batch(std::span<const Input> inputs, std::span<const Label> targets, std::size_t samples,
                  std::size_t micro_batch, std::size_t ahead = 0) {
    if constexpr (Step::template slots<walk::Walk<Engine>> == 0) {
      upload_batch(inputs, targets, samples, micro_batch);
    } else {
      if (samples == 0 && ranks() == 1) return;
      prepare_batch(inputs, targets, samples, micro_batch, ahead);
      const op::InputRing& ring = resident.ring;
      if (std::exchange(ring_differs, false))
        programs::upload(walk, ring.taken, std::span<const std::uint64_t>(&fed, 1)).wait();
      const std::span<const std::byte> numbers = std::as_bytes(std::span(&given, 1)).first(given_bytes);
      bool is_fed = false;
      if constexpr (engines::PinsInputs<Engine>) is_fed = pinned->feed(fed, inputs.data(), numbers);
      if (!is_fed)
        walk.engine.feed(static_cast<std::size_t>(fed % ring.count), ring.slot(fed), ring.stride,
                         [&](std::span<std::byte> to) {
                           const auto write = [&](std::size_t at, std::span<const std::byte> from) {
                             std::copy(from.begin(), from.end(), to.subspan(at).begin());
                           };
                           write(0, numbers);
                           write(ring.input, std::as_bytes(inputs));
                           write(ring.target, std::as_bytes(targets));
                         });
      ++fed;
    }
  }
  /// load(m) gives micro-batch m and returns its number of samples; 0: no more, at least for this rank.
  template <class Load>
  StepResult run_step(Load&& load) {
    Ran& now_running = start_step(load);
    guarded([&] { finish(now_running); });
    return results[0];
  }
  /// Starts a step; call finish for it before starting the one after the next.
  ///   see(output)   is told where the output of each micro-batch lies, before its loss
  template <class Load, class See = programs::Unseen>
  Ran& start_step(Load&& load, const See& see = {}) {
    if (!is_between_steps()) out_of_order(waiting, "step");
    [[maybe_unused]] const auto scope = walk.engine.scope();
    started = now();
    std::size_t samples = 0;
    guarded([&] {
      Step::step(
          walk, resident, Recipe::loss_scaling, Recipe::clip, options.optimizer,
          [&](std::size_t micro_batch) {
            const std::size_t loaded = load(micro_batch);
            samples += loaded;
            return loaded > 0 || ranks() > 1;
          },
          see);
      trainers::compare_weights(*this, 1);
    });
    return note_steps(1, samples);
  }
  /// Starts a launch of several steps with full batches. load(m, step) gives micro-batch m of a step of the launch.
  template <class Load>
  Ran& start_launch(Load&& load) {
    if (!is_between_steps()) out_of_order(waiting, "step");
    [[maybe_unused]] const auto scope = walk.engine.scope();
    started = now();
    guarded([&] {
      Step::launch(walk, resident, Recipe::loss_scaling, Recipe::clip, options.optimizer,
                   [&](std::size_t m) { load(m % micro_batches, m / micro_batches); });
      trainers::compare_weights(*this, steps);
    });
    return note_steps(steps, steps * micro_batches * batch);
  }
  Ran& note_steps(std::size_t count, std::size_t samples) {
    Ran& noted = ran[launches++ % 2];
    noted.last = steps_done += count;
    noted.count = count;
    noted.samples = samples;
    noted.place = place;
    noted.started = started;
    noted.waited = std::exchange(waited, 0);
    const View<Scalars> from = steps > 1 ? resident.results : resident.scalars;
    noted.read = walk.engine.download(from.offset, std::as_writable_bytes(std::span(noted.scalars).first(count)));
    waiting = Waiting::forward;
    by_hand = {};
    return noted;
  }
  /// Waits for started steps; their results, the oldest first.
  std::span<const StepResult> finish(Ran& of) {
    [[maybe_unused]] const auto scope = walk.engine.scope();
    of.read.wait();
    const double end = now(), milliseconds = (end - (std::max)(of.started, finished)) * 1e3;
    for (std::size_t i = 0; i < of.count; ++i) {
      const Scalars& s = of.scalars[i];
      if (s.anomaly.found) {  // the step, which is alone, has changed nothing, and its samples come again
        steps_done = of.last - 1;
        place = of.place;
      }
      expect_finite(s);
      results[i] = StepResult{.step = of.last - of.count + i + 1,
                              .loss = s.loss,
                              .gradient_norm = s.gradient_norm,
                              .learning_rate = s.learning_rate,
                              .loss_scale = s.loss_scale,
                              .applied = s.apply != 0,
                              .milliseconds = milliseconds / double(of.count),
                              .waited = of.waited * 1e3 / double(of.count),
                              .samples = of.samples / of.count * ranks(),
                              .targets = whole_targets(s.count),
                              .weight = s.count};
    }
    if constexpr (!requires { walk.engine.library_bytes(); })
      if (library == 0) library = grown_beside(walk.arena.peak, resident_at_start);
    finished = end;
    return std::span<const StepResult>(results).first(of.count);
  }

 private:
  static MemoryPlan plan_of([[maybe_unused]] const comm::Control* ranks) {
    if constexpr (!Sharding::alone) {
      if (ranks != nullptr) check_groups(Sharding::group, ranks->size());
      if (ranks != nullptr && ranks->size() != Recipe::planned_ranks) return Recipe::make_plan(batch, ranks->size());
    }
    return Recipe::plan;
  }
};

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
