// regimen/rule/fit.hpp — rules about what fit takes. Of callbacks and metrics: trainers/callback_rules.hpp.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/rules.hpp>

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
template <class Third>
struct options_follow_sources {
  static constexpr bool holds = never<Third>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit takes a source, perhaps one for validation, then its options; write fit(source, {.steps = 1000})");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
