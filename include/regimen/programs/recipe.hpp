// regimen/programs/recipe.hpp — binds a model to a configuration: the step and its plan.
#pragma once

#include <regimen/engine/plan/devices.hpp>
#include <regimen/engine/plan/engine.hpp>
#include <regimen/layer/decoding.hpp>
#include <regimen/loss/cross_entropy.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/policy/debug.hpp>
#include <regimen/programs/budget.hpp>
#include <regimen/programs/facts.hpp>
#include <regimen/programs/layer_costs.hpp>
#include <regimen/programs/plan.hpp>
#include <regimen/programs/schedule.hpp>
#include <regimen/programs/step.hpp>
#include <regimen/walk/walk.hpp>

#include <array>
#include <cstddef>

namespace regimen::programs {

/// Bytes between the rows of a batch's output.
template <class Output>
constexpr std::size_t padding_of(std::size_t samples) {
  return samples * (Output::bytes - Output::size * sizeof(typename Output::Element));
}

/// Everything in Trainer<Network, ...> that is independent of memory and data.
template <class Network_, class Configuration>
struct Recipe {
  using Network = Network_;
  using UpdateRule = typename Configuration::optimizer::rule;
  using Loss = typename Configuration::loss::function;
  using Facts =
      TrainingFacts<sharding_of<Configuration>, alignment_of_parameters<Configuration>,
                    alignment_of_trained_rows<Configuration>, typename Configuration::precision,
                    typename named_schedules<typename Configuration::checkpoint, walk::layers_of<Network>,
                                             LayerCosts<programs::Recipe, Network, Configuration>>::type,
                    typename Configuration::freeze, typename Configuration::optimizer, fusing_of<Configuration>>;
  using Schedule = typename Facts::Checkpoint;  // what it recomputes
  using Roles = typename Facts::Roles;
  using Bound = walk::BoundModel<Network, Facts>;
  static constexpr std::size_t micro_batches = Configuration::accumulate::count;
  static constexpr std::size_t steps = Configuration::steps::count;
  using Step = programs::Step<Bound, Loss, UpdateRule, micro_batches, steps, Configuration::loss::sums,
                              Configuration::accumulate::simulates_ranks>;
  static constexpr std::size_t planned_ranks = planned_ranks_of<Configuration>;
  using Target = typename Configuration::target::description;
  using Device = engines::OfConfiguration<Configuration>;
  using PlanWalk = walk::Walk<planning::Engine<typename Device::Traits>>;

  static constexpr op::LossScaling loss_scaling{Configuration::loss_scale::initial,
                                                Configuration::loss_scale::interval};
  static constexpr double clip = Configuration::clip::clips ? double(Configuration::clip::bound) : 0.0;
  static constexpr bool checks_finite = Configuration::debug::template uses<Anomaly>;

  /// One step, or one evaluation, walked by a plan.
  static constexpr PlanWalk walk_step(std::size_t samples, bool full = false, TensorLog* log = nullptr,
                                      std::size_t ranks = planned_ranks, planning::WireLog* wire = nullptr) {
    PlanWalk walk(samples, ranks, std::size_t{0}, ranks, full);
    walk.checks_finite = checks_finite;
    walk.arena.log = log;
    walk.engine.wire = wire;
    const Resident resident = Step::setup(walk);
    Step::step(walk, resident, loss_scaling, clip, {}, [](std::size_t) { return true; });
    if (log) log->write(walk.arena.transients);
    return walk;
  }
  static constexpr PlanWalk walk_evaluation(std::size_t samples, bool full = false, TensorLog* log = nullptr,
                                            std::size_t ranks = planned_ranks) {
    PlanWalk walk(samples, ranks, std::size_t{0}, ranks, full);
    walk.checks_finite = checks_finite;
    walk.training = false;
    walk.arena.log = log;
    const Resident resident = Step::setup(walk);
    Step::evaluate(walk, resident);
    if (log) log->write(walk.arena.transients);
    return walk;
  }

  static constexpr std::size_t peak(std::size_t samples) {
    const std::size_t step = walk_step(samples).arena.peak, evaluation = walk_evaluation(samples).arena.peak;
    return step > evaluation ? step : evaluation;
  }

  struct StepPeak {
    template <std::size_t samples>
    static constexpr std::size_t of = walk_step(samples, false, nullptr, planned_ranks, nullptr).arena.peak;
  };
  template <std::size_t samples>
  static constexpr std::size_t evaluation_peak = walk_evaluation(samples, false, nullptr, planned_ranks).arena.peak;
  /// The largest batch whose step and evaluation fit; 0 if none does.
  template <std::size_t bytes, std::size_t found = largest_batch_within<StepPeak, bytes>()>
  static constexpr std::size_t largest_batch() {
    if constexpr (found == 0) return 0;
    else if constexpr (evaluation_peak<found> > bytes)
      return largest_batch<bytes, found - 1>();  // evaluation needs less memory in all but tiny models
    else return found;
  }

  static constexpr std::size_t batch = [] {
    if constexpr (Configuration::batch::largest) {
      constexpr std::size_t found = largest_batch<Target::memory>();
      return found > 0 ? found : 1;  // if not even one fits, the rule fits_target reports it
    } else if constexpr (Configuration::batch::global > 0) {
      return Configuration::batch::global / (planned_ranks * micro_batches);
    } else {
      return Configuration::batch::size;
    }
  }();

  /// The results of a walk.
  struct WalkSummary {
    std::size_t peak = 0, peak_of_live = 0, host = 0;
    std::array<Cost, 3> cost{};
    typename PlanWalk::Engine::MissingForm lacking{};
    planning::ProductRows rows{};
    regimen::detail::LiveTensors tensors{};
  };
  static constexpr WalkSummary summary_of(bool of_step, std::size_t batch_size, std::size_t world) {
    TensorLog log{};
    const PlanWalk walk =
        of_step ? walk_step(batch_size, false, &log, world) : walk_evaluation(batch_size, false, &log, world);
    return {.peak = walk.arena.peak,
            .peak_of_live = walk.arena.peak_of_live,
            .host = walk.host.peak,
            .cost = walk.engine.cost,
            .lacking = walk.engine.lacking,
            .rows = walk.engine.rows,
            .tensors = log.report};
  }

  static constexpr MemoryPlan make_plan(std::size_t batch_size, std::size_t world, const WalkSummary& step,
                                        const WalkSummary& evaluation) {
    MemoryPlan made{};
    made.batch = batch_size;
    made.micro_batches = micro_batches;
    made.ranks = world;
    const walk::UnitOffsets kept = Bound::size(world);
    made.kept = kept.parameters + kept.gradients + kept.states + Bound::layout.buffer_bytes;
    made.parameters = Bound::layout.weights();
    made.trained = Bound::layout.trained_weights();
    made.gaps = Bound::gap_bytes();
    made.padding = padding_of<typename Bound::Output>(batch_size);
    const WalkSummary& larger = step.peak >= evaluation.peak ? step : evaluation;
    describe_peak(made, larger, larger.tensors);
    made.forward = step.cost[static_cast<std::size_t>(op::Phase::forward)];
    made.backward = step.cost[static_cast<std::size_t>(op::Phase::backward)];
    made.update = step.cost[static_cast<std::size_t>(op::Phase::update)];
    made.unaligned = step.rows.first;
    made.host = step.host;
    return made;
  }
  static constexpr MemoryPlan make_plan(std::size_t batch_size, std::size_t world = planned_ranks) {
    return make_plan(batch_size, world, summary_of(true, batch_size, world), summary_of(false, batch_size, world));
  }

  // Constants of their own: compilers count the steps of each constant expression apart.
  static constexpr WalkSummary step_walked = summary_of(true, batch, planned_ranks),
                               evaluation_walked = summary_of(false, batch, planned_ranks);
  static constexpr MemoryPlan plan = make_plan(batch, planned_ranks, step_walked, evaluation_walked);
  /// An operation that the device lacks, of a step, or of an evaluation alone.
  static constexpr typename PlanWalk::Engine::MissingForm lacking =
      step_walked.lacking.any ? step_walked.lacking : evaluation_walked.lacking;
};

/// Under Checkpoint<Budget<...>>: the recipe with the schedule that the compiler chooses.
template <class Network, class Configuration>
  requires(regimen::detail::has_budget<typename Configuration::checkpoint>)
struct Recipe<Network, Configuration> : BudgetChoice<Recipe, Network, Configuration>::Recipe {
  using Choice = BudgetChoice<programs::Recipe, Network, Configuration>;
  static constexpr MemoryPlan plan = [] {
    MemoryPlan made = Choice::Recipe::plan;
    made.budget = regimen::detail::budget_of<typename Configuration::checkpoint>;
    made.recomputed = recomputation_of(static_cast<typename Choice::Schedule*>(nullptr));
    return made;
  }();
};

/// How many sets of weights are Shared in the layers of a model.
template <class Layers>
inline constexpr std::size_t sets_in = boost::mp11::mp_size<walk::shared_sets<Layers>>::value;

/// The recipe of Inference<Network, ...>: one forward pass, and parameters in the compute type; if the model decodes
/// incrementally, also that walk and its caches.
template <class Network_, class Configuration>
struct InferenceRecipe {
  using Network = Network_;
  template <class Of>
  using bound = walk::BoundModel<
      Of, InferenceFacts<typename Configuration::precision::compute, alignment_of_parameters<Configuration>,
                         alignment_of_rows<Configuration>, fusing_of<Configuration>>>;
  using Bound = bound<Network>;
  using Step = Forward<Bound>;
  using Target = typename Configuration::target::description;

  using Decoding = decoding_t<Network>;
  static constexpr std::size_t window = Decoding::window;
  static constexpr bool decodes = [] {
    if constexpr (!Decoding::possible || Step::Output::rows != window) return false;
    else if constexpr (Decoding::translates)  // a set that the encoder shares has one form
      return sets_in<walk::layers_of<typename Decoding::template by<1>>> == sets_in<walk::layers_of<Network>>;
    else return true;
  }();
  /// Whether it reads a source beside the text that it decodes.
  static constexpr bool translates = Decoding::translates;
  template <std::size_t Rows>
  using Walk = Forward<bound<typename Decoding::template by<Rows>>>;

  using PlanWalk = walk::Walk<planning::Engine<typename engines::OfConfiguration<Configuration>::Traits>>;

  static constexpr PlanWalk begin_plan(std::size_t batch_size, bool full, TensorLog* log) {
    PlanWalk walk(batch_size, std::size_t{1}, std::size_t{0}, std::size_t{1}, full);
    walk.training = false;
    walk.arena.log = log;
    return walk;
  }
  static constexpr std::size_t cache_bytes = [] {
    if constexpr (decodes) {
      static_assert(
          bound<typename Decoding::template by<1>>::size(1).parameters == Bound::size(1).parameters,
          "regimen: a layer says couples_positions = false, and has parameters that depend on how many there are");
      PlanWalk walk = begin_plan(1, false, nullptr);
      Resident resident = Step::setup_inference(walk);
      resident.cache = 0;
      Walk<1>::walk_on(walk, resident, 0);
      return walk.cache;
    } else {
      return std::size_t{0};
    }
  }();
  /// borrows   parameters and buffers are those of another Inference     decoding   of one position, if the model can
  static constexpr PlanWalk walk_forward(std::size_t batch_size, bool full = false, TensorLog* log = nullptr,
                                         bool borrows = false, bool decoding = false) {
    PlanWalk walk = begin_plan(batch_size, full, log);
    const Resident resident = Step::setup_inference(walk, cache_bytes, borrows);
    if (!decoding) walk.arena.give(Step::predict(walk, resident));
    else if constexpr (decodes) walk.arena.give(Walk<1>::walk_on(walk, resident, 0));
    if (log) log->write(walk.arena.transients);
    return walk;
  }

  struct ForwardPeak {
    template <std::size_t samples>
    static constexpr std::size_t of = walk_forward(samples, false, nullptr).arena.peak;
  };
  template <std::size_t bytes>
  static constexpr std::size_t largest_batch() {
    return largest_batch_within<ForwardPeak, bytes>();
  }
  static constexpr std::size_t batch = [] {
    if constexpr (Configuration::batch::largest) {
      constexpr std::size_t found = largest_batch<Target::memory>();
      return found > 0 ? found : 1;
    } else {
      return Configuration::batch::size;
    }
  }();

  /// `decoding_peak`: the peak of incremental decoding, which is larger only for short windows.
  static constexpr MemoryPlan make_plan(std::size_t batch_size, bool full, std::size_t decoding_peak,
                                        bool borrows = false) {
    TensorLog log{};
    const PlanWalk walk = walk_forward(batch_size, full, &log, borrows);
    const bool is_larger = decoding_peak > walk.arena.peak;
    if (is_larger) log = {};
    const PlanWalk larger = is_larger ? walk_forward(batch_size, full, &log, borrows, true) : walk;
    MemoryPlan made{};
    made.batch = batch_size;
    made.parameters = Bound::layout.weights();
    made.gaps = borrows ? 0 : Bound::gap_bytes();
    made.padding = padding_of<typename Bound::Output>(batch_size);
    describe_peak(made, larger.arena, log.report);
    made.forward = walk.engine.cost[static_cast<std::size_t>(op::Phase::forward)];
    made.unaligned = walk.engine.rows.first;
    return made;
  }
  static constexpr MemoryPlan make_plan(std::size_t batch_size, bool full = false) {
    return make_plan(batch_size, full, walk_forward(batch_size, full, nullptr, false, true).arena.peak);
  }
  // Constants of their own: compilers count the steps of each constant expression apart.
  static constexpr std::size_t peak_on = walk_forward(batch, false, nullptr, false, true).arena.peak;
  static constexpr MemoryPlan plan = make_plan(batch, false, peak_on);
  // The plan without parameters, for an Inference that shares those of another one.
  static constexpr std::size_t shared_peak_on = walk_forward(batch, false, nullptr, true, true).arena.peak;
  static constexpr MemoryPlan shared_plan = make_plan(batch, false, shared_peak_on, true);
  static constexpr typename PlanWalk::Engine::MissingForm lacking = walk_forward(batch, false, nullptr).engine.lacking;
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
