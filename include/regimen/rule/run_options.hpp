// regimen/rule/run_options.hpp — rules about options of a run and of a Trainer: their names.
#pragma once

#include <regimen/core/misnamed.hpp>
#include <regimen/core/rules.hpp>

#include <type_traits>

namespace regimen::rule {

/// Meaning: what PyTorch, Lightning, Keras or transformers have under the name that was written.
/// docs/errors/run_options.md#option_has_name
template <class Meaning, bool Has>
struct option_has_name {
  static constexpr bool holds = Has;
  template <class Of>
  static constexpr bool holds_of = holds || !std::is_same_v<Meaning, Of>;
  struct must_hold {
    static_assert(
        holds_of<misnamed::learning_rate>,
        "regimen: the learning rate is the update rule's; write Train trainer{{.optimizer = {.learning_rate = 1e-3}}}");
    static_assert(
        holds_of<misnamed::moments>,
        "regimen: this option has another name; write .beta1, .beta2, .epsilon (RmsProp: .alpha), each with one number");
    static_assert(
        holds_of<misnamed::rule>,
        "regimen: this is an option of the update rule; write Train trainer{{.optimizer = {.weight_decay = 0.1}}}");
    static_assert(holds_of<misnamed::seed>,
                  "regimen: all that is random begins with .seed; write Train trainer{{.seed = 7}}");
    static_assert(
        holds_of<misnamed::run>,
        "regimen: this is of a run, not of a Trainer; write trainer.fit(source, {.epochs = 3, .workers = 2}, callback)");
    static_assert(
        holds_of<misnamed::progress>,
        "regimen: fit shows progress, and a callback hears each step; write fit(source, {.progress = false}, callback)");
    static_assert(
        holds_of<misnamed::patience>,
        "regimen: patience ends a run early; write fit(source, validation, {.validate_every = 100, .patience = 3})");
    static_assert(
        holds_of<misnamed::saving>,
        "regimen: a state is loaded before fit, and saved by a callback; write trainer.load(path), Checkpoints(folder, {})");
    static_assert(
        holds_of<misnamed::sampling>,
        "regimen: the number of tokens is an argument, and sampling has .temperature, .top_k and .end; write generate(model, prompt, 100, {.end = 0})");
    static_assert(
        holds_of<misnamed::policy>,
        "regimen: this is a policy, which the compiler must know; write Trainer<Model, Batch<32>, Device<Cuda>>");
    static_assert(holds_of<misnamed::steps>,
                  "regimen: fit takes .steps and .epochs, of the whole run; write fit(source, {.steps = 1000})");
    static_assert(
        holds_of<misnamed::schedule>,
        "regimen: a learning rate's course is a Schedule; write {.schedule = Schedule::warmup_cosine(100, 1000)}");
    static_assert(
        holds_of<misnamed::argument>,
        "regimen: this is an argument of fit; write fit(source, validation, {.epochs = 3}, Accuracy{}, callback)");
    static_assert(holds_of<misnamed::evaluation>,
                  "regimen: fit evaluates every so many steps; write fit(source, validation, {.validate_every = 100})");
    static_assert(
        holds_of<misnamed::loading>,
        "regimen: how fit reads is .order, .remainder and .workers; write {.order = Order::Sequential, .workers = 2}");
  };
};

/// A bare number could be any option; a model belongs into the type, Trainer<Model>.
/// docs/errors/run_options.md#options_have_names
template <class Given>
struct options_have_names {
  static constexpr bool holds = never<Given>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Trainer takes its options by name; write Train trainer{{.optimizer = {.learning_rate = 1e-3}}}");
  };
};

/// The outer level is for the Trainer's own options: schedule, seed, threads.
/// docs/errors/run_options.md#rule_options_stand_inside
template <class RuleOptions>
struct rule_options_stand_inside {
  static constexpr bool holds = never<RuleOptions>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: these options are the update rule's; write them inside, Train trainer{{.optimizer = {.learning_rate = 1e-3}}}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
