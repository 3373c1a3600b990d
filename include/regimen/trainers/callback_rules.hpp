// regimen/trainers/callback_rules.hpp — rules about the callbacks and metrics of fit and evaluate.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/trainers/result.hpp>

#include <concepts>
#include <type_traits>
#include <vector>

namespace regimen::trainers {

/// The events that callbacks of a Trainer get: each step, or each launch of several steps.
template <class Train>
using TrainingEvent = std::conditional_t<(Train::Session::steps > 1), StepResults, const StepResult&>;

/// Whether Trainer::fit ever calls a Callback. A callback that takes any type is compiled only for the events of this
/// Trainer.
template <class Train, class Callback>
inline constexpr bool hears_training = std::is_invocable_v<Callback&, Train&, TrainingEvent<Train>>;
template <class Train, class Callback>
inline constexpr bool hears_epochs = std::is_invocable_v<Callback&, Train&, const EpochEvent&>;
template <class Metric>
inline constexpr bool has_sums = requires(Metric& metric) {
  { metric.sums } -> std::same_as<std::vector<double>&>;
};
/// A program may give metrics among the callbacks; then all callbacks may take the metrics' results. A const metric is
/// refused.
template <class Callback>
inline constexpr bool is_metric = has_sums<std::remove_const_t<std::remove_reference_t<Callback>>>;
template <class Train, class Callback, bool measures>
inline constexpr bool is_called =
    hears_training<Train, Callback> || std::is_invocable_v<Callback&, Train&, const Evaluation&> ||
    hears_epochs<Train, Callback> || std::is_invocable_v<Callback&, Train&, const Fitted&> || [] {
      if constexpr (measures) return std::is_invocable_v<Callback&, Train&, const Measured&>;
      else return false;
    }();

/// Whether a metric can add the batches of a Session, as a rule: include regimen/watch/metrics.hpp.
template <class Session, class M>
struct MetricRule;

}  // namespace regimen::trainers

namespace regimen::rule {

/// A callback of one result would be called once for K steps, and count them as one.
/// docs/errors/fit.md#callback_hears_launches
template <class Callback, class Train>
struct callback_hears_launches {
  static constexpr bool holds = [] {
    if constexpr (Train::Session::steps == 1 || trainers::hears_training<Train, Callback>) return true;
    else return !std::is_invocable_v<Callback&, Train&, const StepResult&>;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: under Steps<K> fit calls after K steps; write a callback of (auto& trainer, std::span<const StepResult>)");
  };
};

/// A callback accepts (trainer, event): a StepResult, Evaluation, EpochEvent, Fitted or Measured.
/// docs/errors/fit.md#callback_takes_event
template <class Callback, class Train, bool measures>
struct callback_takes_event {
  static constexpr bool holds = trainers::is_called<Train, Callback, measures>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit never calls this; write a callback of (auto& trainer, const StepResult&), or of const Evaluation&");
  };
};

/// Trainers know nothing of metrics, so programs without metrics do not pay for them.
/// docs/errors/fit.md#metrics_are_included
template <class Metric, class Train>
struct metrics_are_included {
  static constexpr bool holds = requires { sizeof(trainers::MetricRule<typename Train::Session, Metric>); };
  struct must_hold {
    static_assert(
        holds, "regimen: a metric needs regimen/watch/metrics.hpp, which is not included here; include it before this");
  };
};

/// fit measures training by the metric, and each evaluation by a copy of it.   docs/errors/metrics.md#metric_is_copied
template <class Metric>
struct metric_is_copied {
  static constexpr bool holds = std::is_copy_constructible_v<Metric>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit copies a metric for its evaluations, and this one cannot be copied; make it so, or give it to evaluate");
  };
};

/// A metric is a sum, to which fit and evaluate add batches.   docs/errors/metrics.md#metric_is_written
template <class Metric>
struct metric_is_written {
  static constexpr bool holds = trainers::has_sums<Metric> || !trainers::is_metric<Metric>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit and evaluate write the sums of a metric, and this one is const; pass one that is not const");
  };
};

/// A program that calls evaluate reads the result in the metric.   docs/errors/metrics.md#metric_keeps_result
template <class Metric>
struct metric_keeps_result {
  static constexpr bool holds = std::is_lvalue_reference_v<Metric>;
  struct must_hold {
    static_assert(holds,
                  "regimen: evaluate leaves its result in the metric, and this one is a temporary; pass a variable");
  };
};

/// Callback hears only Measured; measures: fit was given a metric.   docs/errors/metrics.md#measured_needs_metric
template <class Callback, class Train, bool measures>
struct measured_needs_metric {
  static constexpr bool holds = [] {
    if constexpr (measures || trainers::is_called<Train, Callback, measures>) return true;
    else return !std::is_invocable_v<Callback&, Train&, const Measured&>;
  }();
  struct must_hold {
    static_assert(holds,
                  "regimen: this callback hears Measured, and fit was given no metric; add one, such as Accuracy{}");
  };
};

}  // namespace regimen::rule

namespace regimen::trainers {

/// The first rule that a metric given to fit or evaluate breaks, or the last.
///   Given   M, if it is a temporary; else M&
template <class Train, class Given, bool is_of_fit = false, class M = std::remove_reference_t<Given>>
using RuleOfMetric =
    rule::first_broken<rule::metric_is_written<M>, rule::metrics_are_included<M, Train>,
                       MetricRule<typename Train::Session, M>,
                       std::conditional_t<is_of_fit, rule::metric_is_copied<M>, rule::metric_keeps_result<Given>>>;
template <class Train, class Callback, bool measures, class Named = std::remove_reference_t<Callback>>
struct CallbackRule final {
  using type = rule::first_broken<rule::callback_hears_launches<Named, Train>,
                                  rule::measured_needs_metric<Named, Train, measures>,
                                  rule::callback_takes_event<Named, Train, measures>>;
};
template <class Train, class Callback, bool measures, class Named>
  requires is_metric<Callback>
struct CallbackRule<Train, Callback, measures, Named> final {
  using type = RuleOfMetric<Train, Callback, true>;
};
template <class Train, class Callback, bool measures>
using heard_callback = typename CallbackRule<Train, Callback, measures>::type::must_hold;
template <class Train, class Callback, bool measures>
inline constexpr bool may_call = CallbackRule<Train, Callback, measures>::type::holds;

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
