// regimen/rule/fit.hpp — rules about what fit takes: sources and callbacks.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// From: the data or labels given, To: Trainer::Input or Trainer::Label.   docs/errors/fit.md#data_type_matches
template <class From, class To>
struct data_type_matches {
  static constexpr bool holds = std::is_same_v<From, To>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this model reads other data or labels; give it std::vector<Train::Input> and std::vector<Train::Label>");
  };
};

/// A double of 16 digits would become a float of 7. From: the data, To: what the model reads.
/// docs/errors/fit.md#narrowing_data
template <class From, class To>
struct narrowing_data {
  static constexpr bool holds = !std::is_same_v<From, fp64> || std::is_same_v<To, fp64> || !Number<To>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fp64 data would lose digits in this model; convert them to float, or compute in Precision<fp64>");
  };
};

/// A third source, or a bare number, has no meaning to fit.   docs/errors/fit.md#options_follow_sources
template <class Third, bool Follow = false>
struct options_follow_sources {
  static constexpr bool holds = Follow;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit takes a source, perhaps one for validation, then its options; write fit(source, {.steps = 1000})");
  };
};

/// A callback of one result would be called once for K steps, and count them as one.
/// docs/errors/fit.md#callback_hears_launches
template <class Callback, class Steps, bool hears>
struct callback_hears_launches {
  static constexpr bool holds = hears;
  struct must_hold {
    static_assert(
        holds,
        "regimen: under Steps<K> fit calls after K steps; write a callback of (auto& trainer, std::span<const StepResult>)");
  };
};

/// Called: whether the callback accepts (trainer, StepResult), or an Evaluation, EpochEvent or Fitted in its place.
/// docs/errors/fit.md#callback_takes_event
template <class Callback, bool Called>
struct callback_takes_event {
  static constexpr bool holds = Called;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit never calls this; write a callback of (auto& trainer, const StepResult&), or of const Evaluation&");
  };
};

/// Trainers know nothing of metrics, so that programs without any do not pay for them.
/// docs/errors/fit.md#metrics_are_included
template <class Metric, bool are_included>
struct metrics_are_included {
  static constexpr bool holds = are_included;
  struct must_hold {
    static_assert(
        holds, "regimen: a metric needs regimen/watch/metrics.hpp, which is not included here; include it before this");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
