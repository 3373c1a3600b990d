// regimen/train/recipe.hpp — a model and a configuration, bound: the step they make and the plan of it.
#pragma once

#include <regimen/loss/cross_entropy.hpp>
#include <regimen/optimizer/adamw.hpp>
#include <regimen/policy/compose.hpp>
#include <regimen/train/plan.hpp>
#include <regimen/train/step.hpp>

#include <cstddef>

namespace regimen::train {

/// Everything about Trainer<Network, ...> that does not depend on memory or data.
template <class Network_, class Configuration>
struct Recipe {
  using Network = Network_;
  using Precision = typename Configuration::precision;
  using Roles = regimen::Roles<typename Precision::compute, typename Precision::master, typename Precision::reduce>;
  using Rule = typename Configuration::optimizer::rule;
  using Loss = typename Configuration::loss::function;
  using Bound =
      walk::BoundModel<Network, Roles, typename Configuration::checkpoint, typename Configuration::freeze, Rule::states, Configuration::fusion::on>;
  static constexpr std::size_t micro_batches = Configuration::accumulate::count;
  using Step = train::Step<Bound, Loss, Rule, micro_batches>;
  using Target = typename Configuration::target::description;

  static constexpr op::LossScaling loss_scaling{Configuration::loss_scale::initial, Configuration::loss_scale::interval};
  static constexpr double clip = Configuration::clip::clips ? double(Configuration::clip::bound) : 0.0;

  /// One step, or one evaluation, walked by a plan.
  static constexpr plan::Engine walk_step(std::size_t samples, bool full = false, Log* log = nullptr) {
    plan::Engine engine(samples);
    engine.full = full;
    engine.arena.log = log;
    const Resident resident = Step::setup(engine);
    Step::step(engine, resident, loss_scaling, clip, {}, [](std::size_t) {});
    return engine;
  }
  static constexpr plan::Engine walk_evaluation(std::size_t samples, bool full = false, Log* log = nullptr) {
    plan::Engine engine(samples);
    engine.full = full;
    engine.training = false;
    engine.arena.log = log;
    const Resident resident = Step::setup(engine);
    Step::evaluate(engine, resident);
    return engine;
  }

  static constexpr std::size_t peak(std::size_t samples) {
    const std::size_t step = walk_step(samples).arena.peak, evaluation = walk_evaluation(samples).arena.peak;
    return step > evaluation ? step : evaluation;
  }

  /// The largest batch whose step and evaluation fit; 0 if none does. The peak is close to a straight line in the batch, so
  /// the line through two plans finds the answer in a handful of them.
  static constexpr std::size_t largest_batch(std::size_t bytes) {
    struct Point {
      std::size_t batch, peak;
    };
    const auto planned = [&](std::size_t samples) { return Point{samples, walk_step(samples).arena.peak}; };
    Point low = planned(1);
    if (low.peak > bytes) return 0;
    Point high = planned(2);
    const auto crossing = [&] {  // where the line through both points reaches `bytes`
      const std::size_t slope = (high.peak - low.peak) / (high.batch - low.batch);
      return low.batch + (bytes - low.peak) / (slope > 0 ? slope : 1);
    };
    while (high.peak <= bytes) {
      const std::size_t beyond = crossing() + 1;
      low = high;
      high = planned(beyond > high.batch ? beyond : high.batch + 1);
    }
    while (high.batch - low.batch > 1) {
      const std::size_t guess = crossing();
      const Point middle = planned(guess <= low.batch ? low.batch + 1 : guess >= high.batch ? high.batch - 1 : guess);
      (middle.peak <= bytes ? low : high) = middle;
    }
    std::size_t found = low.batch;
    while (found > 0 && walk_evaluation(found).arena.peak > bytes) --found;  // evaluation is the smaller one in all but toy models
    return found;
  }

  static constexpr std::size_t batch = [] {
    if constexpr (Configuration::batch::largest) return largest_batch(Target::memory);
    else return Configuration::batch::size;
  }();

  /// Two passes over the larger of step and evaluation: the first finds the moment of the peak, the second looks at what lives then.
  static constexpr MemoryPlan make_plan(std::size_t batch_size) {
    const plan::Engine step = walk_step(batch_size), evaluation = walk_evaluation(batch_size);
    const bool training = step.arena.peak >= evaluation.arena.peak;
    const plan::Engine& larger = training ? step : evaluation;
    Log log{};
    log.snapshot_at = larger.arena.peak_event;
    if (training) walk_step(batch_size, false, &log);
    else walk_evaluation(batch_size, false, &log);

    MemoryPlan made{};
    made.batch = batch_size;
    made.micro_batches = micro_batches;
    made.parameters = Bound::layout.count;
    made.trained = Bound::layout.trained;
    made.peak = larger.arena.peak;
    made.peak_of_live = larger.arena.peak_of_live;
    made.kinds = log.report.bytes_by_kind;
    std::size_t sum = 0;
    for (std::size_t bytes : made.kinds) sum += bytes;
    made.kinds[static_cast<std::size_t>(Kind::transient)] += made.peak - sum;  // holes between transient tensors
    made.largest = log.report.largest;
    made.forward = step.cost[static_cast<std::size_t>(plan::Phase::forward)];
    made.backward = step.cost[static_cast<std::size_t>(plan::Phase::backward)];
    made.update = step.cost[static_cast<std::size_t>(plan::Phase::update)];
    return made;
  }
  static constexpr MemoryPlan plan = make_plan(batch);
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
