// regimen/trainers/session.hpp — the inside of a Trainer: the engine and its arena, the ranks, the place of the run,
// its steps.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/comm/ranks_of.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/function_ref.hpp>
#include <regimen/core/now.hpp>
#include <regimen/core/one_thread.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/batching.hpp>
#include <regimen/data/source.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/programs/check_ids.hpp>
#include <regimen/programs/parameters.hpp>
#include <regimen/programs/recipe.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/saves/background_save.hpp>
#include <regimen/saves/patience.hpp>
#include <regimen/trainers/feed.hpp>
#include <regimen/trainers/fingerprint.hpp>
#include <regimen/trainers/launches.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/preparation.hpp>
#include <regimen/trainers/replicas.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regimen::trainers {

/// The place of a Trainer in its run. A saved state has all members, except those of the batches of a loop by hand: a
/// resumed program asks for these again.
struct Position final {
  std::uint64_t steps_done = 0;
  DataPlace place{};          // in the data that fit reads
  Batching batching{};        // of the last call of Trainer::batches; `by_hand` of its batches are applied
  std::uint64_t by_hand = 0;  // micro-batches
  saves::Patience patience{};
};

/// The connection of all ranks.
struct Peers final {
  std::unique_ptr<comm::Ranks> all_ranks;  // null: a single rank
  std::vector<std::uint64_t> hashes{};     // of all ranks' weights, for compare_weights
  bool has_left = false;                   // the other ranks know that this one has failed
};
/// Bytes, planned and measured.
struct MemoryOfRun final {
  std::size_t resident_at_start = resident_bytes();  // of the process, before the arena is allocated
  MemoryPlan plan;
  std::size_t library = 0;  // bytes of libraries beside the arena, measured at the first step
};
/// The micro-batches of the step that a loop by hand has begun, and the number of its latest result.
struct StepByHand final {
  std::size_t output = 0, batches = 0, samples = 0;
  std::uint64_t ticket = 0;
};
/// The call of fit, the present one or the last.
struct CallOfFit final {
  FitOptions run{};
  bool is_running = false;  // a callback of fit may be running
};
/// The save in the background.
struct Saving final {
  std::unique_ptr<saves::BackgroundSave> running;  // null: none
  double evaluated = no_value;                     // the loss of the evaluation for which a state is saved; else NaN
  int exceptions = std::uncaught_exceptions();     // in flight at construction
};

/// The Session of a Trainer: of its network and its policies.
template <class Self>
struct SessionOf;

/// The inside of a Trainer. `fit`, the loop by hand, evaluation and saved state work on it; a program cannot reach it.
///
/// Recipe_          of the network, bound to Configuration_
/// thread safety    none: one thread at a time; `enter` checks this in every member of a Trainer
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
  using Engine = engines::ProfiledEngine<typename Device::type, Configuration::debug::template uses<Profile>>;

  static constexpr std::size_t batch = Recipe::batch, micro_batches = Recipe::micro_batches;
  static constexpr std::size_t steps = Recipe::steps;  // of a launch
  static constexpr std::size_t input_size = Step::X::size, target_size = Step::Labels::size;
  static constexpr auto vocabulary = rule::vocabulary_of<typename Recipe::Network>();
  static constexpr bool waits =
      Configuration::debug::template uses<Profile> || Configuration::debug::template uses<Synchronous>;

  using Launch = trainers::Launch<Engine, steps>;
  using Batch = MicroBatch<Input, Label>;

  mutable OneThread one{};
  Options options;
  std::uint64_t seed;

  Peers peers;         // the engine borrows them: they are made before the walk, and closed after leave_ranks
  MemoryOfRun memory;  // the engine allocates what its plan says: the plan is made before the walk

  // The arena, and what lies where in it.
  walk::Walk<Engine> walk;
  programs::Resident resident{};
  std::vector<programs::TensorRecord> tensors;
  HostCopies<Master, Reduce> host;

  // The run: its place, and steps that have begun.
  Position position;
  PreparedRows prepared;
  Feed<Engine> feed;
  Launches<Engine, steps> launches;
  Waiting waiting = Waiting::forward;
  StepByHand by_hand;

  CallOfFit fit;
  Saving saving;  // the last member: its thread ends before the other members are destroyed

  [[gnu::noinline]] Session(std::unique_ptr<comm::Ranks> given_ranks, const Options& given_options)
      : options(given_options),
        seed(options.seed != 0 ? options.seed : Configuration::seed::value),
        peers{.all_ranks = std::move(given_ranks)},
        memory{.plan = engines::with_room<Engine>(plan_of(peers.all_ranks.get()), peers.all_ranks.get())},
        walk(batch, peers.all_ranks ? peers.all_ranks->size() : 1, peers.all_ranks ? peers.all_ranks->rank() : 0,
             engines::Resources<typename Engine::Ranks>{.bytes = memory.plan.peak,
                                                        .ranks = peers.all_ranks.get(),
                                                        .threads = options.threads,
                                                        .captures = Configuration::graph::captures && !waits,
                                                        .waits = waits,
                                                        .host_bytes = memory.plan.host}) {
    if constexpr (Configuration::world::ranks > 0) check_world(Configuration::world::ranks, ranks());
    check_options<Master, UpdateRule>(options);
    tensors = programs::list_tensors<typename Recipe::Bound>(rank(), ranks());
    programs::check_decay<UpdateRule>(tensors, options.optimizer);
    [[maybe_unused]] const auto scope = walk.engine.scope();
    if constexpr (!Sharding::alone) {
      comm::agree(peers.all_ranks.get(), "Trainer", "program, seed and options",
                  fingerprint_of<Session>(options, seed));
      comm::agree_in_words(peers.all_ranks.get(), "Trainer", "arithmetic",
                           Engine::template numerics<typename Recipe::Roles::computed>(),
                           "build for one processor (-march), and give all ranks the same libraries");
      peers.hashes.resize(ranks());
    }
    walk.arena.capacity = memory.plan.peak;
    walk.checks_finite = Recipe::checks_finite;
    resident = Step::setup(walk);
    feed.pin(walk.engine, resident.ring);
    if constexpr (Preparation<Session>::prepares) {
      Preparation<Session>::step(*this, batch);
      Preparation<Session>::evaluation(*this, batch);
    }
    if constexpr (Configuration::debug::checks)
      if (rank() == 0)
        regimen::detail::say("regimen: Debug<...> is on: this run is checked, and slower; do not time it\n");
    if (options.verbose && (rank() == 0 || connects_gpus<typename Configuration::communicator::ranks>))
      say_arithmetic(rank(), ranks(), walk.engine.template description<typename Recipe::Roles::computed>());
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
    if (saving.running && std::uncaught_exceptions() > saving.exceptions) saving.running->give_up();
    if constexpr (requires { walk.engine.leave_ranks(); }) walk.engine.leave_ranks();
    peers.all_ranks.reset();
  }

  [[nodiscard]] auto enter(const char* who) {
    return Entry<Session, decltype(walk.engine.scope())>{*this, enter_trainer(one, who), walk.engine.scope()};
  }
  /// See Trainer::sample_shape.
  static constexpr SampleShape sample_shape() {
    return {input_size, target_size, programs::single_bound(vocabulary),
            programs::bound_of_labels<Label>(Step::classes)};
  }
  /// Memory outside the arena, as the device reports it now.
  std::size_t library_bytes() const {
    [[maybe_unused]] const auto scope = walk.engine.scope();
    if constexpr (requires { walk.engine.library_bytes(); }) return walk.engine.library_bytes();
    else return memory.library;
  }
  // (Inlined also without optimisation: see walk/walk.hpp.)
  [[gnu::always_inline]] std::size_t rank() const { return walk.rank; }
  [[gnu::always_inline]] std::size_t ranks() const { return walk.ranks; }
  [[gnu::always_inline]] bool is_sliced() const { return Sharding::slices_state && ranks() > 1; }
  /// The control interface of the ranks, after all earlier operations, since both may use one connection. Null: a
  /// single rank.
  comm::Control* control() {
    if (peers.all_ranks) walk.engine.download(0, {}).wait();
    return peers.all_ranks.get();
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

  /// See Weights::collect_slices.
  static constexpr std::size_t master_weights = ~std::size_t{0};
  std::vector<Master> collect_slices(std::size_t state) { return Weights<Session>::collect_slices(*this, state); }
  void reset_state() { Weights<Session>::reset_state(*this); }
  void update_copies() { Weights<Session>::update_copies(*this); }

  // ---- exceptions

  /// Runs body(), a step or other common work of all ranks. After an exception only the persistent regions stay
  /// allocated, and the other ranks get the reason.
  void guarded(FunctionRef<void()> body) {
    guard(body, [this](const std::string& reason) { give_up(reason); });
  }
  [[gnu::cold]] void give_up(const std::string& reason) {
    if (saving.running) saving.running->give_up();
    if (peers.all_ranks && !std::exchange(peers.has_left, true)) peers.all_ranks->leave(reason);
    try {
      if constexpr (requires { walk.engine.abort_ranks(); }) walk.engine.abort_ranks();
      abandon();
    } catch (const Error&) {  // of a lost device; the first error says why
    }
  }
  void abandon() {
    walk.abandon(resident.end);
    if (!is_in_average()) waiting = Waiting::forward;  // with_average alone ends it
    by_hand = StepByHand{.ticket = by_hand.ticket};
    feed.recount();
  }
  [[gnu::always_inline]] bool is_between_steps() const { return waiting == Waiting::forward; }
  [[gnu::always_inline]] bool is_in_average() const { return waiting == Waiting::average; }
  /// Refuses a change of the state while fit runs: fit continues at its own place in the data, with its own counts.
  void expect_no_fit(const char* who) const {
    if (waiting == Waiting::average) in_average(who);
    if (fit.is_running) in_callback(who);
  }
  /// Sets the walk to evaluation or prediction for the lifetime of this object.
  struct Mode {
    explicit Mode(Session& of) : session(of) {
      if (!session.is_between_steps() && !session.is_in_average()) out_of_order(session.waiting, "evaluate or predict");
      session.walk.training = false;
    }
    ~Mode() {
      session.walk.training = true;
      session.walk.abandon(session.resident.end);
    }
    Session& session;
  };

  // ---- a step

  /// Without a Batching no rank knows whether all ranks have a whole micro-batch: they tell each other.
  void agree_on_whole([[maybe_unused]] bool own) {
    if constexpr (!Sharding::alone && Engine::Traits::has_graphs) {
      if (ranks() > 1) walk.engine.host_waits_elsewhere();
      walk.all_are_whole = ranks() == 1 || comm::on_all(*peers.all_ranks, own);
    }
  }
  /// load(m) gives micro-batch m and returns its number of samples; 0: no more, at least for this rank.
  StepResult run_step(FunctionRef<std::size_t(std::size_t)> load) {
    Launch& now_running = start_step(load);
    guarded([&] { finish(now_running); });
    return launches.results[0];
  }
  /// Starts a step. At most two started steps may be without their finish().
  ///   see(output)   gets the place of each micro-batch's output, before its loss
  template <class See = programs::NoViewer>
  Launch& start_step(FunctionRef<std::size_t(std::size_t)> load, const See& see = {}) {
    if (!is_between_steps()) out_of_order(waiting, "step");
    [[maybe_unused]] const auto scope = walk.engine.scope();
    launches.started = regimen::detail::now();
    std::size_t samples = 0;
    const auto load_next = [&](std::size_t micro_batch) {
      const std::size_t loaded = load(micro_batch);
      samples += loaded;
      return loaded > 0 || ranks() > 1;
    };
    guarded([&] {
      Step::step(walk, resident, Recipe::loss_scaling, Recipe::clip, options.optimizer,
                 FunctionRef<bool(std::size_t)>(load_next), see);
      trainers::compare_weights(*this, 1);
    });
    return note_steps(1, samples);
  }
  /// Starts a launch of several steps with full batches. load(m, step) gives micro-batch m of a step of the launch.
  Launch& start_launch(FunctionRef<void(std::size_t, std::size_t)> load) {
    if (!is_between_steps()) out_of_order(waiting, "step");
    [[maybe_unused]] const auto scope = walk.engine.scope();
    launches.started = regimen::detail::now();
    guarded([&] {
      Step::launch(walk, resident, Recipe::loss_scaling, Recipe::clip, options.optimizer,
                   [&](std::size_t m) { load(m % micro_batches, m / micro_batches); });
      trainers::compare_weights(*this, steps);
    });
    return note_steps(steps, steps * micro_batches * batch);
  }
  Launch& note_steps(std::size_t count, std::size_t samples) {
    Launch& noted = launches.next();
    noted.last = position.steps_done += count;
    noted.count = count;
    noted.samples = samples;
    noted.place = position.place;
    noted.started = launches.started;
    noted.waited = std::exchange(launches.waited, 0);
    const View<Scalars> from = steps > 1 ? resident.results : resident.scalars;
    noted.read = walk.engine.download(from.offset, std::as_writable_bytes(std::span(noted.scalars).first(count)));
    waiting = Waiting::forward;
    by_hand = StepByHand{.ticket = by_hand.ticket};
    return noted;
  }
  /// Waits for started steps; their results, the oldest first.
  StepResults finish(Launch& of) {
    [[maybe_unused]] const auto scope = walk.engine.scope();
    of.read.wait();
    const double end = regimen::detail::now();
    if (of.scalars[0].anomaly.found) {  // the step, which is alone, has changed nothing, and its samples come again
      position.steps_done = of.last - 1;
      position.place = of.place;
    }
    write_results(of, of.scalars, ranks(), launches.finished, end, launches.results);
    if constexpr (!requires { walk.engine.library_bytes(); })
      if (memory.library == 0) {
        const std::size_t now = resident_bytes(), planned = memory.resident_at_start + walk.arena.peak;
        memory.library = now > planned ? now - planned : 0;
      }
    launches.finished = end;
    return StepResults(launches.results).first(of.count);
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
